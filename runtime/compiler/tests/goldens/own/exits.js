export function f(x, when) {
  const y = x.mul(2);
  try {
    if (when) throw new RangeError("boom");
    return y;
  } catch (e) {
    const z = y.add(1);
    return z;
  } finally {
    x.sum();
  }
}
