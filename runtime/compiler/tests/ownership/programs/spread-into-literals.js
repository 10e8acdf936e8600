import { full } from "mlrun";
const print = (...vs) => vs.map((v) => globalThis.harness.print(v)).length;
const T = (n = 1) => full([2], n);

// Code behind a spread takes out of its source what the literal has copied already.
const emptied = [T(1), T(2)];
const empty = () => { emptied.length = 0; return T(3); };
const list = [...emptied, empty()];
print(list[0].add(list[2]));

const state = { w: T(4), b: T(5) };
const clear = () => { state.w = null; return T(6); };
const next = { ...state, b: clear() };
print(next.w, next.b, state.w);

function local(n) {
  let s = { w: T(n), v: T(n + 1) };
  const drop = () => { s.w = T(0); s = null; };
  const o = { ...s, v: (drop(), T(9)) };
  return o;
}
print(local(1).w, local(2).v);

// A getter, a conversion and another spread are code as well.
const source = { t: T(7) };
const eager = { get g() { source.t = null; return 1; } };
const viaGetter = { ...source, g: eager.g };
print(viaGetter.t);
source.t = T(8);
const viaSpread = { ...source, ...eager };
print(viaSpread.t);
source.t = T(9);
const viaConversion = { ...source, n: +{ valueOf() { source.t = null; return 2; } } };
print(viaConversion.t, viaConversion.n);
const xs = [T(10)];
const viaIterator = [...xs, ...{ *[Symbol.iterator]() { xs.length = 0; yield 1; } }];
print(viaIterator[0]);

// The last mention of the source.
const step = (s) => ({ ...s, w: s.w.add(1) });
let run = { w: T(1), n: T(2) };
for (let i = 0; i < 4; i++) run = step(run);
print(run.w, run.n);
let acc = [];
for (let i = 0; i < 3; i++) acc = [...acc, T(i)];
print(acc.map((t) => t.sum()).length, acc[0], acc[2]);
const fresh = { ...both(T(3)), own: 1 };
function both(t) { return { up: t.add(1), down: t.sub(1) }; }
print(fresh.up, fresh.down);

// Others see the copy or the source.
const seen = [];
const spy = new Function("seen", "o", "seen.push(o);");
const mixed = { ...run };
spy(seen, mixed);
mixed.w = null;
run = null;
print(seen[0].n);
const held = { t: T(5) };
const proxy = new Proxy(held, { get(o, k) { const v = o[k]; o[k] = null; return v; } });
const through = { ...proxy };
print(through.t);
class Point { constructor(x) { this.x = x; this.y = x.neg(); } }
const p = new Point(T(6));
const plain = { ...p };
p.x = null;
print(plain.x, plain.y);
const { x, ...others } = { ...plain, z: T(1) };
print(x, others.y, others.z);
const withThen = { ...{ then: undefined, t: T(2) } };
print(withThen.t);
const keyed = { ...[T(1), T(2)] };
print(keyed[1]);
print({ ...T(1) }, { ...null }, { ...undefined }, { ..."ab" });
const [k] = [...[{ t: T(4) }]];
print(k.t);
