// Lists that are spread into builtins, iterators of arrays that outlast their loop, keys that are no
// indices, and what else made a builtin forget what its operands hold.
import { full } from "mlrun";

const print = (...vs) => vs.map((v) => globalThis.harness.print(v)).length;
let n = 0;
const T = () => full([2], ++n);
const un = new Function("x", "(globalThis.harness.kept ??= []).push(x); return 1");
const last = () => globalThis.harness.kept.at(-1);

{
  const xs = [T(), T(), T()], ys = [T()];
  xs.fill(...ys);
  const k = ys[0];
  xs.length = 0;
  print(k);
  const a = T(), zs = [T(), T(), T(), T()], z = zs[0];
  zs.fill(...[a, 1, 3]);
  print(z, zs[1], zs[3]);
}
{
  const xs = [T(), T()];
  Array.from(...[xs, un]);
  xs.length = 0;
  T();
  print(last());
  const ys = [T()], c = Array.from(...[ys, (x) => { ys.length = 0; T(); return x; }]);
  print(c[0]);
  const zs = [T(), T()], code = new Proxy([1], { get(o, k) { zs[0] = null; T(); return o[k]; } });
  print(zs.concat(...[code])[0]);
  const ws = [T()];
  ws.push(...[T(), T()]);
  ws.splice(...[0, 1, T()]);
  print(ws[0], ws[2], ws.reduce(...[(p, q) => p.add(q)]), [1, 2].reduce((p, q) => p.add(q), ...[T()]));
}
{
  const xs = [T(), T()], f = () => { xs[0] = null; return T(); };
  print([...xs.values(), f()][0]);
  const ys = [T(), T()];
  print(((a) => { ys.length = 0; T(); return a.sum().add(a); })(...ys.values()));
  const zs = [T(), T()], c = Array.from(zs.values()), d = [...zs.entries()], e = [...zs[Symbol.iterator]()];
  zs.length = 0;
  T();
  print(c[0], d[1][1], e[0]);
}
{
  const xs = [T(), T()], out = [];
  for (const e of xs.entries()) { xs[e[0]] = null; T(); print(e[1]); }
  const ys = [T(), T()];
  for (const e of ys.entries()) out.push(e);
  ys.length = 0;
  T();
  print(out[0][1]);
  for (const [i, t] of [T(), T()].entries()) print(t.add(i));
  for (const { 1: t } of [T()].entries()) print(t);
}
{
  const keep = new Function("xs", "(globalThis.harness.kept ??= []).push(xs[-1][0], xs[1.5])");
  const inner = [T()], half = T(), xs = [];
  xs[-1] = inner;
  xs[1.5] = half;
  keep(xs);
  inner[0] = null;
  xs[1.5] = null;
  T();
  for (const t of globalThis.harness.kept.slice(-2)) print(t);
}
{
  let converted = 0;
  const key = () => 1, o = {};
  key.toString = () => (converted++, "p");
  o[key] = T();
  print(converted, o.p);
  print(new (class { constructor(t) { this.t = t; } })(T()).constructor.name, new (function (t) { this.t = t; })(T()).t);
}
