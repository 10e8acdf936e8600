export function train(w, n) {
  let h = w;
  for (let t = 0; t < n; t++) {
    const g = h.mul(2);
    if (t === 1) continue;
    h = h.sub(g);
  }
  return h;
}
