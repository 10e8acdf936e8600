// Prefix reversals of permutations: integer arrays and loops.
function flips(n) {
  const p = [], q = [], s = [];
  let most = 0, check = 0, sign = 1;
  for (let i = 0; i < n; i++) { p[i] = i; q[i] = i; s[i] = i; }
  for (;;) {
    let first = p[0];
    if (first !== 0) {
      for (let i = 1; i < n; i++) q[i] = p[i];
      let count = 1;
      for (;;) {
        const next = q[first];
        if (next === 0) { if (count > most) most = count; check += sign * count; break; }
        q[first] = first;
        if (first >= 3) { let i = 1, j = first - 1; do { const t = q[i]; q[i] = q[j]; q[j] = t; i++; j--; } while (i < j); }
        first = next;
        count++;
      }
    }
    if (sign === 1) { const t = p[0]; p[0] = p[1]; p[1] = t; sign = -1; } else {
      const t = p[1]; p[1] = p[2]; p[2] = t; sign = 1;
      for (let i = 2; i < n; i++) {
        const k = s[i];
        if (k !== 0) { s[i] = k - 1; break; }
        if (i === n - 1) return check * 100 + most;
        s[i] = i;
        const first = p[0];
        for (let j = 0; j <= i; j++) p[j] = p[j + 1];
        p[i + 1] = first;
      }
    }
  }
}
export function main() { return flips(8); }
