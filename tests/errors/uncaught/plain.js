function inner(n) {
  if (n === 0) throw new TypeError("boom");
  inner(n - 1);
}
class Model {
  forward() {
    inner(1);
  }
}
console.log("before");
new Model().forward();
