// Fields take what parameters, caught errors and captured variables hold; assignments that throw take nothing.
import { full } from "mlrun";

let n = 0;
const T = () => full([2], ++n);
const sum = (t) => (typeof t === "object" && t !== null ? t.sum().item() : t);
const show = (name, ...ts) => console.log(name, ...ts.map(sum));
const test = (name, f) => {
  try {
    f(name);
  } catch (e) {
    console.log(name, "threw", e.name, e.message);
  }
};

test("parameter into fields", (name) => {
  class A { #a; b; constructor(t, { u, v = T() } = {}, ...r) { this.#a = t; this.b = t; this.u = u; this.v = v; this.r = r[0]; this.rs = r; } get a() { return this.#a; } set a(t) { this.#a = t; } set(t, u = t.add(1)) { this.#a = u; this.b = u; this[`c`] = t; } static #s; static put(t) { A.#s = t; } static get s() { return A.#s; } other(o, t) { o.#a = t; } upd(t) { this.#a ??= t; this.b ??= t; this.#a &&= t; [this.#a, this.b] = [t, t.add(1)]; ({ x: this.#a } = { x: t }); return this.#a; } c(e) { try { throw e; } catch (x) { this.#a = x; } } each(l) { for (const x of l) this.#a = x; for (this.#a of l); } }
  const a = new A(T(), { u: T() }, T());
  show(name, a.a, a.b, a.u, a.v, a.r, a.rs[0]);
  a.a = T();
  show(name, a.a); a.set(T());
  show(name, a.a, a.b, a.c === a.c); A.put(T());
  show(name, A.s); A.put(T());
  show(name, A.s);
  const b = new A(T()); a.other(b, T());
  show(name, b.a);
  show(name, a.upd(T()), a.a, a.b); const c = a.a; a.c; A.prototype.c.call(a, T());
  show(name, a.a, c); a.each([T(), T()]);
  show(name, a.a);
});
test("fields that capture", (name) => {
  const mk = (t) => class { x = t; #y = t; static z = t; get y() { return this.#y; } };
  const C = mk(T()); { const c = new C(); c.x = null; c.y; } const d = new C();
  show(name, d.x, d.y, C.z);
  const mk2 = (t) => { const u = t.add(1); return class { x = u; #y = (u, t); f = () => u; get y() { return this.#y; } }; };
  const D = mk2(T()); { const q = new D(); q.x = 1; } const e = new D();
  show(name, e.x, e.y, e.f());
  function old(t) { this.t = t; this.f = function () { return this.t; }; } const o = new old(T());
  show(name, o.t, o.f());
});
test("catch and imports", (name) => {
  let k; try { throw T(); } catch (e) { k = { e }; }
  show(name, k.e);
  class H { #e; run() { try { throw T(); } catch (e) { this.#e = e; } return this.#e; } } const h = new H();
  show(name, h.run(), h.run());
  const c = T(); try { c = T(); } catch (e) {
  show(name, e.message, c); } try { [c] = [T()]; } catch (e) {
  show(name, c); } try { for (c of [T()]); } catch (e) {
  show(name, c); } try { c ??= T(); c &&= T(); } catch (e) {
  show(name, c); }
  try { z = T(); } catch (e) {
  show(name, e.message); } let z = T();
  show(name, z);
  for (let i = 0; i < 2; i++) { try { y = T(); } catch {} let y = T();
  show(name, y); }
  const f = (t) => { const g = (u) => { try { t2 = u; } catch {} }; g(t); const t2 = t.add(1); try { t2 = t; } catch {} return [t2, t]; };
  show(name, ...f(T()));
  function fn(t) { try { (function me() { me = t; return me; })(); } catch (e) {
  show(name, e.message); } return t; }
  show(name, fn(T()));
  class K { static m(t) { try { K = t; } catch (e) {
  show(name, e.message); } return t; } }
  show(name, K.m(T()));
});
test("declared anew by each turn", (name) => {
  for (const k of [1, 2]) {
    let best;
    for (let i = 0; i < 4; i++) if (i === k) best = T();
    let last;
    try { sum(best); best = null; last ??= T(); } catch (e) { show(name, e.message); }
    show(name, k, best, last);
  }
});
