// Methods that give the array itself or a copy of it, deletion, and lists that a generator fills.
import { full } from "mlrun";

const print = (...vs) => vs.map((v) => globalThis.harness.print(v)).length;
let n = 0;
const T = () => full([2], ++n);

{
  const xs = [T(), T()], first = xs[0];
  const same = xs.reverse();
  xs[1] = null;
  print(first, same === xs, same[0]);
  const sparse = [];
  sparse[2] = T();
  print(sparse.reverse()[0]);
}
{
  const xs = [T(), T(), T()], last = xs[2];
  print(xs.fill(xs[0])[2], last, xs.length);
  xs.length = 1;
  print(xs[0]);
  print([T(), T()].fill(T())[1], new Array(2).fill(T())[1], [T(), T()].fill(T(), 1)[0]);
  const given = [1, 2];
  given.fill(T());
  given[0] = null;
  print(given[1]);
}
{
  const xs = [T(), T()];
  const with1 = xs.with(1, T()), back = xs.toReversed();
  xs.length = 0;
  print(with1[0], with1[1], back[0], back[1]);
  const ys = [T()];
  print(ys.with({ valueOf() { ys.length = 0; return 0; } }, T())[0], ys.length);
  try {
    ys.with(5, T());
  } catch (e) {
    print(e.name);
  }
}
{
  const xs = [[T()], [T(), [T()]], T()];
  const all = xs.flat(), one = xs.flat(1);
  for (const x of xs) x.length = 0;
  xs.length = 0;
  print(all[0], all[2].length, all[3], one[1]);
  const odd = [[T()], { length: 0 }];
  Object.defineProperty(odd[0], 1, { get() { odd[0][0] = null; return 1; }, enumerable: true });
  print(odd.flat()[0]);
}
{
  const xs = [{ t: T(), k: 2 }, { t: T(), k: 1 }];
  const sorted = xs.toSorted((p, q) => { xs.length = 0; return p.k - q.k; });
  print(sorted[0].t, sorted[1].t, xs.length);
  const found = xs.concat(sorted).findLast((x, i, all) => { all.length = 0; sorted.length = 0; return x?.k === 1; });
  print(found?.t, xs.findLastIndex((x) => x.t));
  const zs = [T(), T()];
  print(zs.toSorted(() => 1).length, zs[0], zs[1]);
  const ys = [T(), T()];
  print(ys.findLast((t) => { ys.length = 0; return true; }));
}
{
  const target = { a: T(), b: T() }, old = target.a, from = { a: T(), c: T() };
  const same = Object.assign(target, from, null, { d: T() });
  from.a = null;
  from.c = null;
  print(same === target, old, same.a, same.b, same.c, same.d);
  const seen = [];
  class Set1 { set p(v) { seen.push(v); } q = T(); }
  const o = Object.assign(new Set1(), { p: T(), q: T() });
  print(seen[0], seen.length, o.q);
  const getters = Object.assign({ x: T() }, { get x() { return T(); } });
  print(getters.x, Object.keys(getters).join());
  const hooked = Object.assign({}, { then: undefined, t: T() }), self = { t: T() };
  print(hooked.t, Object.assign(self, self).t);
  class Fields { constructor(o) { Object.assign(this, o); } }
  const f = new Fields({ w: T(), v: T() });
  f.w = null;
  print(f.v);
}
{
  const o = { a: T(), b: T(), 7: T() }, { a } = o;
  print(delete o.a, delete o["b"], delete o[7], delete o.none, a, Object.keys(o).length);
  const xs = [T(), T()], x = xs[0];
  delete xs[0];
  print(x, xs[1], 0 in xs);
  const keys = { toString() { xs.length = 0; return "1"; } };
  print(delete xs[keys], xs.length);
  const cache = {};
  for (let i = 0; i < 5; i++) {
    cache[i] = T();
    if (i > 1) delete cache[i - 2];
  }
  print(Object.values(cache)[0], Object.keys(cache).join());
  const frozen = Object.freeze({ t: T() });
  try {
    delete frozen.t;
  } catch (e) {
    print(e.message);
  }
  print(frozen.t);
}
{
  function* g(k, t = T()) { for (let i = 0; i < k; i++) yield i ? T() : t; }
  const t = T(), xs = [...g(2), t, ...g(1, t)];
  print(xs[0], xs[1], xs[3], Math.max(...g(2).map?.((x) => 1) ?? [1]));
  const f = (...ts) => ts[ts.length - 1].add(ts[0]);
  print(f(...g(3), ...[t]), f(...g(1)));
  class It { constructor(k) { this.k = k; } *[Symbol.iterator]() { for (let i = 0; i < this.k; i++) yield T(); } all() { return [...this]; } }
  const make = (k) => new It(k);
  print([...make(2)][1], make(2).all()[0], [...[...make(2)]][0]);
  function* failing() { yield T(); throw new Error("no"); }
  try {
    print([...failing()]);
  } catch (e) {
    print(e.message);
  }
  let kept;
  function* keeping() { const t = T(); kept = [t]; yield t; yield kept[0]; kept.length = 0; yield 1; }
  const ys = [...keeping()];
  print(ys[0], ys[1], ys[2]);
  const empty = () => ({ [Symbol.iterator]: () => ({ next: () => ({ done: true }) }) });
  print([...empty()].length, [..."ab"].length, [...new Set([1, 2])].length, [...new Map([[1, T()]])][0][1]);
}
{
  // The conversion of an operand runs code that calls builtins of its own.
  const convert = (v) => ({ valueOf() { const q = [1, 2].map((x) => x); T().add(q.length); return v; } });
  const xs = [T(), T()];
  const part = xs.slice(convert(0)), kept = xs.with(convert(0), T()), at = xs.at(convert(1)), tail = (() => xs.slice(convert(1)))();
  const out = xs.splice(convert(0), convert(1));
  xs.length = 0;
  print(part[0], part[1], kept[1], at, tail[0], out[0]);
  const ys = [T(), T(), T()];
  ys.fill(0, 1, 2);
  print(ys[0], ys[2]);
  ys.fill(...[T(), 1]);
  print(ys[0], ys[2]);
  print([[T()]].flat(...[0])[0][0], [[[T()]]].flat(1)[0][0], [[[T()]]].flat(convert(2))[0]);
  const target = { w: T() }, clear = { get x() { target.w = null; return 1; } };
  Object.assign(target, { w: T() }, clear, { v: T() });
  print(target.w, target.v, target.x);
  const list = [{ a: T() }, { b: T() }];
  print(Object.keys(Object.assign({}, ...list)).join());
  const merged = Object.assign({ t: T() }, ...list);
  list.length = 0;
  print(merged.a, merged.t);
}
{
  // Loops over copies, and what is copied from a generator.
  const xs = [T(), T(), T()];
  for (const x of xs.slice()) { xs.length = 0; print(x); }
  const ys = [T(), T()];
  for (const y of ys.toReversed()) print(y, ys.pop());
  for (const y of [T(), T()].reverse()) print(y);
  for (const y of [T(), T()].with(0, T())) print(y);
  for (const y of [T(), T()].concat([T()]).slice(1)) print(y);
  function* g(k) { for (let i = 0; i < k; i++) yield T(); }
  const from = Array.from(g(2)), mapped = Array.from(g(2), (t, i) => t.add(i));
  print(from[1], mapped[1], Array.from(g(1))[0], Array.from({ length: 2 }).length, Array.from(new Set([T()]))[0]);
  const order = [];
  function* watched() { for (let i = 0; i < 2; i++) { order.push(`g${i}`); yield T(); } }
  Array.from(watched(), (t, i) => order.push(`m${i}`));
  print(order.join());
}
