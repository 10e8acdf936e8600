import { full } from "mlrun";
const { print } = globalThis.harness;
const T = (n = 1) => full([2], n);
const iterate = Array.prototype[Symbol.iterator];
const patched = new Function("iterate", "return function () { globalThis.harness.stolen = this; return iterate.call(this) }")(iterate);
const taken = () => { const [a] = [T(1), T(2)]; return a; };
Array.prototype[Symbol.iterator] = patched;
const a = taken();
Array.prototype[Symbol.iterator] = iterate;
print(a);
print(globalThis.harness.stolen[1]);
// What the program spreads is no array here, so its patch sees none, even if the pass has made a list of it.
const watched = [], see = new Function("watched", "iterate", "return function () { if (this[0]?.add) watched.push(this[0]); return iterate.call(this) }")(watched, iterate);
const m = new Map([["a", T(3)]]), s = new Set([T(4)]);
function* g(x) { yield x.add(1); yield x; }
const spreads = [() => [...m.values()], () => [T(5), ...s], () => ((...v) => v[1])(...g(T(6))), () => [...g(T(7))], () => Array.from(g(T(8)))];
for (let i = 0; i < spreads.length; i++) {
  Array.prototype[Symbol.iterator] = see;
  const made = spreads[i]();
  Array.prototype[Symbol.iterator] = iterate;
  print(made.add ? made : made[0]);
}
m.clear();
s.clear();
print(watched.length);
for (const v of watched) print(v);
