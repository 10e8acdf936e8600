console.log({ a: [1, "two", null], map: new Map([["k", 1n]]), f() {} });
console.log("%s is %d%%, %o", "x", 50, { y: 1 });
console.table([{ a: 1, b: 2 }]);
console.group("group");
console.info("indented", Symbol("s"), new Date(0));
console.groupEnd();
class Point {
  constructor() {
    this.x = 1;
  }
}
console.log(new Point(), [undefined], -0, new Float32Array([1.5, 2]));
console.error("to stderr");
