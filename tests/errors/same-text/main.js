// Messages, names and positions are the same with the ownership pass on and off.
import { ones, zeros } from "mlrun";

const o = { a: {}, t: ones([2]), list: [1, 2] };
const x = ones([2, 3]);
function thrower(t) {
  const y = t.add(1);
  throw new RangeError(`bad ${y.shape}`);
}
class Model {
  #w = x;
  forward(t) { return this.inner(t.add(1)); }
  inner(t) { return t.matmul(this.#w); }
  static make() { return new this(); }
}
const cases = {
  method: () => o.a.f(x),
  deep: () => o.a.b.c(x.add(1)),
  "no function": () => o.t(x),
  "undefined name": () => missing(x),
  "computed": () => o["a"]["f"](x, x.mul(2)),
  "call of a call": () => (() => 3)()(x),
  "new": () => new o.t(x),
  "null": () => null.x(x),
  "of undefined": () => undefined?.x.y ?? o.q.r(x),
  thrower: () => thrower(x.mul(2)),
  shapes: () => x.matmul(x),
  nested: () => Model.make().forward(x),
  "in a callback": () => [x, x].map((t) => t.matmul(t)),
  "in a native callback": () => [3, 1].sort(() => thrower(x)),
  destructuring: () => { const { a: { b: { c } } } = o; return c; },
  "constant": () => { const c = x; c = x.add(1); return c; },
  "early": () => { const a = b.add(1); let b = x; return a; },
  "generator": () => { for (const v of (function* () { yield x; thrower(x); })()) v.sum(); },
  "argument type": () => x.add("text"),
};
for (const [name, f] of Object.entries(cases)) {
  try {
    f();
    console.log(name, "passed");
  } catch (e) {
    const frames = e.stack.split("\n").filter((line) => line.startsWith("    at ")).map((line) => line.replace(/file:.*\//, "").trim());
    console.log(`${name}: ${e.name}: ${e.message}\n  ${frames.slice(0, 4).join("\n  ")}`);
  }
}
const later = async (t) => { await null; return thrower(t); };
try { await later(x); } catch (e) { console.log(e.message, e.stack.split("\n")[1].replace(/file:.*\//, "")); }
const named = (t) => t.sum(), holder = { m(t) { return t.sum(); }, get g() { return x.sum(); }, ["k" + 1]: (t) => t.add(1) };
console.log(named.name, holder.m.name, holder.k1.name, named.length, Model.name, Model.make.name, thrower.length, (class { static s = (t) => t.add(1); }).s.name);
console.log(String(named), String(holder.m), String(thrower), String(Model.make));
