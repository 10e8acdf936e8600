// Rests of assignments, generators and Maps taken apart: what was taken stays, whatever the rest of the pattern runs.
import { tensor } from "mlrun";
const T = (x) => tensor([x]).add(1), s = (...ts) => console.log(ts.map((t) => String(t.toArray())).join(" "));
function* gen(n) { for (let i = 0; i < n; i++) yield T(i); }
function go() {
  let d;
  [...d] = [T(1)];
  return d[0].toArray();
}
console.log(go());
let c, d, e, o, x, y;
[c, ...d] = gen(3); s(c, ...d);
[...d] = new Set([T(1), T(2)]); s(...d);
({ e, ...d } = { e: 1, b: T(1) }); s(d.b);
({ ...o } = await (async () => ({ q: T(3) }))()); s(o.q);
[x, [...y]] = [T(1), [T(2), T(4)]]; s(x, ...y);
{ function* ga() { const o = { t: T(1) }; yield o; o.t = T(5); yield 2; } const [{ t }, y] = ga(); s(t); console.log(y); }
{ class K { constructor() { this.t = T(1); } get g() { this.t = null; return 1; } } const [{ t, g }] = (function* () { yield new K(); })(); s(t); }
{ const M = { m: new Map() }; class K { constructor(t) { this.t = t; } get g() { M.m.clear(); return 1; } }
  (() => { M.m.set(new K(T(1)), T(5)); for (const [{ t, g }, v] of M.m.entries()) s(t, v); })();
  M.m = new Map([[T(1), new K(T(2))]]); (() => { for (const [k, { g, t }] of M.m.entries()) s(k, t); })(); }
{ const m = new Map(), p = new Array(2); p[0] = 1; p[1] = 2; m.set("a", p); { const ys = [...m.values()]; console.log(ys.length); } p[0] = T(1); const q = m.get("a"); console.log(q.length); s(m.get("a")[0]); }
{ const m = new Map([["a", T(1)], ["b", T(2)]]); const es = [...m.entries()]; m.clear(); s(es[0][1], es[1][1]); const [[k, v]] = new Map([["z", T(7)]]); s(v); }
