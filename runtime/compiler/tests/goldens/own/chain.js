export const f = (x, w) => x.matmul(w).add(1).relu();
export function g(x) {
  const a = x.exp();
  const b = a.sum();
  x.neg();
  return b;
}
