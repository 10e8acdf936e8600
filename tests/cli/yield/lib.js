export async function longest(spin) {
  "use yield";
  let n = 0;
  outer: for (const i of Array(20).keys()) {
    for (let j = 0; j < 20; j++) {
      if (j === 10) continue outer;
      spin(1);
      n++;
    }
  }
  do n--; while (n > 0);
  return n;
}
