// What an error calls the callee, and all other messages of the engine, are the same with the ownership pass on and off.
import { full } from "mlrun";
const t = full([2], 1); let a = 1, b = 2, o = { p: 1, q: { r: 2 } }; const f = (x) => x, g = { h: () => 1 };
class K { #z = 1; run(x) { this.#z(x); } static s(x) { super.nope(x); } }
const cases = [
  () => (-a)(t), () => (!a)(t), () => (typeof a)(t), () => (void a)(t), () => (~a)(t), () => (delete o.zz)(t),
  () => (a++)(t), () => (++a)(t), () => (o.p--)(t), () => (a + b)(t), () => (a + b + 1)(t), () => (a * b + 1)(t), () => (a < b)(t), () => (a === b)(t), () => ("p" in o)(t), () => (o instanceof Object)(t), () => (a ** b)(t),
  () => (/x/)(t), () => (/x/g.y)(t), () => (`x`)(t), () => (`x${a}y`)(t), () => (`x`.zz)(t), () => (a = b)(t), () => (a += b)(t), () => (o.p = b)(t), () => (o.p ||= b)(t), () => (a, b)(t),
  () => (a ? b : a)(t), () => (a ?? b)(t), () => (a && b || a)(t), () => [1, , a](t), () => ({ a, b })(t), () => (async () => 1)()(t), () => (function () {})()(t), () => (class {})(t), () => new (class {})()(t), () => new K()(t), () => new K().x(t), () => new f(t), () => new a(t), () => new o.p(t), () => new (a + b)(t), () => new g.h(t),
  () => f(a)(t), () => f(a).b(t), () => f(a)[b](t), () => o?.p(t), () => o.p?.(t), () => o?.q.r(t), () => o["p"](t), () => o[0](t), () => o[a + b](t), () => o[`p`](t), () => o[f(a)](t), () => new K().run(t), () => K.s(t),
  () => (1n)(t), () => (null)(t), () => (undefined)(t), () => ("s")(t), () => (1.5)(t), () => true(t), () => this(t), () => import.meta(t), () => (0, o.p)(t), () => ((a))(t), () => (t.add)(t)(t), () => t.nope(t), () => t.add(1).nope(t), () => t.T.nope(t), () => f`x`(t), () => a`x${t}`, () => o.p`${t}`, () => f(...[a])(t), () => a(...[t]), () => o.p(...[t]), () => (f)(t)(t),
  () => { const [x] = a; return [x, t]; }, () => { const { x } = null; return [x, t]; }, () => { const { x: { y } } = o; return [y, t]; }, () => { for (const x of a) print(x, t); }, () => { const [x] = o; return [x, t]; }, () => { [a.b.c] = [t]; }, () => { null.x = t; }, () => { o.z.y = t; }, () => { undefined[t]; }, () => { o.zz.y(t); }, () => { a.b.c.d(t); }, () => [...a, t], () => f(...a, t), () => new f(...a, t), () => { with_; }, () => zz(t), () => zz.y(t), () => { o.q.r.s.t(t); }, () => { K(t); }, () => { Symbol() + t; }, () => { a in b; }, () => t instanceof a, () => { (() => { "use strict"; Object.freeze(o).p = t; })(); }, () => { f = t; },
];
for (const c of cases) { try { const r = c(); console.log(String(c).slice(6), "fine", typeof r); } catch (e) { console.log(String(c).slice(6), "|", e.name, e.message); } }
console.log(f.name, g.h.name, K.name, cases[0].name, (() => {}).name, K.prototype.run.name, f.toString(), K.toString(), g.h.toString());
