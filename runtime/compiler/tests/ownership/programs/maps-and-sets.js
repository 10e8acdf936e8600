// Maps and Sets keep what they hold, whoever takes it out meanwhile or sees them.
import { full } from "mlrun";
const { print } = globalThis.harness;
let made = 0;
const T = () => full([2], ++made);
const other = (body) => new Function("m", `return ${body}`);
const pairs = () => new Map([["a", T()], ["b", T()]]);
{ const m = pairs(), a = m.get("a"); m.set("a", T()); print(a); print(m.get("a")); m.delete("b"); print(m.has("b")); m.clear(); print(m.size); print(a); }
{ const m = pairs(); for (const [k, t] of m) { m.delete(k); print(t); m.set(k + "x", T()); if (m.size > 4 || k.length > 3) break; } print(m.size); }
{ const m = pairs(); for (const t of m.values()) { m.clear(); print(t.add(1)); } for (const k of m.keys()) print(k); }
{ const m = pairs(); for (const e of m) { m.clear(); print(e[1]); } }
{ const m = pairs(); for (const e of m.entries()) { m.clear(); print(e[1]); } }
{ const m = pairs(); for (const [k, t] of m.entries()) { m.clear(); print(t); } }
{ const m = pairs(); m.forEach((t, k, all) => { all.delete(k); print(t); }); print(m.size); m.set("z", T()); m.forEach(function (t) { this.clear(); print(t); }, m); }
{ const m = new Map().set("a", T()).set("b", T()); print(m.get("b")); const same = m.set("a", m.get("b")); m.delete("b"); print(same.get("a")); same.set("a", same.get("a")); print(m.get("a")); }
{ const m = pairs(), l = [...m.values(), m.clear() ?? T()]; for (const t of l) print(t); }
{ const m = pairs(), f = (a, b) => { m.clear(); return a.add(b); }; print(f(...m.values())); }
{ const m = pairs(), l = [...m], e = [...m.entries()]; m.clear(); print(l[0][1]); print(e[1][1]); const again = new Map(l); l.length = 0; print(again.get("b")); }
{ const m = pairs(), n = new Map(m); m.clear(); print(n.get("a")); const it = n.values(); n.set("c", T()); n.delete("a"); for (const t of it) print(t); }
{ const m = pairs(), [[k, t]] = m; m.clear(); print(k); print(t); const s = new Set([T(), T()]), [u] = s; s.clear(); print(u); }
{ const m = pairs(), l = Array.from(m.values()), o = Object.fromEntries(m); m.clear(); print(l[0]); print(o.b); }
{ const s = new Set(), t = T(); s.add(t).add(t); s.delete(t); print(t); s.add(T()); for (const u of s) { s.delete(u); print(u); } const [x] = [...s.add(T())]; s.clear(); print(x); }
{ const k = T(), m = new Map([[k, 1]]); m.delete(k); print(k); m.set(k, k); m.set(k, T()); print(k); for (const [key] of m) { m.clear(); print(key); } }
{ const m = new Map(), inner = new Map([["t", T()]]); m.set("i", inner); inner.set("u", T()); m.get("i").delete("t"); print(m.get("i").get("u")); m.set("i", null); print(inner.get("u")); }
{ const mk = () => { const m = pairs(); m.set("c", { t: T() }); return m; }; const m = mk(), c = m.get("c"); m.set("c", 0); print(c.t); print(mk().get("c").t); }
const seen = [];
{ const m = pairs(); seen.push(other("[...m.values()]")(m)); m.clear(); for (const t of seen[0]) print(t); m.set("q", T()); print(m.get("q")); }
{ const [x, l] = new Function("mk", "const x = mk(); const l = [...x.values()]; return [x, l];")(pairs); x.clear(); print(l[0]); x.set("a", l[1]); print(x.get("a")); }
class Cache extends Map { put(k, t) { this.set(k, t); return this; } }
{ const c = new Cache().put("a", T()), t = c.get("a"); c.set("a", T()); print(t); print(c.get("a")); }
class Holder { m = new Map(); #s = new Set(); put(k, t) { this.m.set(k, t); this.#s.add(t); if (this.#s.size > 2) this.#s.clear(); return this.m.get(k); } }
{ const h = new Holder(); for (let i = 0; i < 5; i++) print(h.put(i % 2, T())); const t = h.m.get(0); h.m = null; print(t); }
{ const set = Map.prototype.set, all = []; Map.prototype.set = function (k, t) { all.push(t); return set.call(this, k, t); }; const m = new Map([["a", T()]]); m.set("b", T()); Map.prototype.set = set; m.set("a", 0); m.set("b", 0); for (const t of all) print(t); }
{ const get = Map.prototype.get; let last; Map.prototype.get = function (k) { return last = get.call(this, k); }; const m = pairs(); print(m.get("a")); m.clear(); print(last); Map.prototype.get = get; }
{ const Real = Map, all = []; globalThis.Map = class extends Real { constructor(l) { super(l); all.push(...this.values()); } }; const m = new Map([["a", T()]]); m.clear(); globalThis.Map = Real; print(all[0]); }
{ const Real = Map; globalThis.Map = new Function("Real", "const box = new Real(); return function Map() { return box; };")(Real); const m = new Map(); m.set("a", T()); const [t] = new Function("m", "return [m.get('a')]")(new Map()); m.clear(); globalThis.Map = Real; print(t); }
{ const Real = Map, all = []; globalThis.Map = new Function("Real", "all", "return function Map() { const box = new Real(); all.push(box); return box; };")(Real, all); const m = new Map(); m.set("a", T()); globalThis.Map = Real; const look = new Function("all", "return [...all[0].values()]"), [t] = look(all); m.clear(); print(t); }
{ const m = pairs(), next = Object.getPrototypeOf(m.keys()).next, all = []; Object.getPrototypeOf(m.keys()).next = function () { const r = next.call(this); all.push(r.value); return r; }; for (const t of m.values()) print(t); for (const t of [...m.values()]) print(t); m.clear(); Object.getPrototypeOf(new Map().keys()).next = next; print(all[0]); print(all[4]); }
{ const m = pairs(), it = Map.prototype[Symbol.iterator], all = []; Map.prototype[Symbol.iterator] = function* () { for (const e of it.call(this)) { all.push(e[1]); yield e; } }; for (const [k, t] of m) print(t); m.clear(); Map.prototype[Symbol.iterator] = it; print(all[1]); }
{ const m = pairs(); m.extra = T(); const t = m.extra; m.extra = null; print(t); m.own = { t: T() }; print(m.own.t); }
{ const l = [["a", T()], { 0: "b", get 1() { l[0][1] = null; return T(); } }], m = new Map(l); print(m.get("a")); print(m.get("b")); }
{ const m = new Map((function* () { const t = T(); yield ["a", t]; yield ["b", t]; })()), a = m.get("a"); m.clear(); print(a); }
{ const m = pairs(); print(m.delete("a", m.get("b"))); print(m.get("b")); m.set("k", T(), T()); print(m.get("k")); m.set("only"); print(m.size); m.delete(); m.clear(1); print(m.size); }
{ let k = "a"; const m = pairs(), t = m.get("a"); m.set(k, (k = "b", T())); print(t); print(m.get("a")); print(m.get("b")); const at = { toString() { m.clear(); return "x"; } }; m.set(`${at}`, T()); print(m.get("x")); }
{ const f = (m) => { m.set("f", T()); return m; }; const m = f(new Map()), g = f(m).get("f"); m.clear(); print(g); const h = ({ m: n }) => n.get("f"); print(h({ m: f(new Map()) })); }
{ const later = async (m) => { await null; m.set("z", T()); return m.get("z"); }; const m = new Map(), t = await later(m); m.clear(); print(t); }
{ const m = pairs(), g = (function* () { for (const [k, t] of m) yield t; })(); const a = g.next().value; m.clear(); print(a); print(g.next().done); }
{ const m = pairs(); print(m.getOrInsert?.("a", 1) ?? 0); print(structuredClone([...m.keys()]).length); const w = new WeakMap([[m, T()]]); print(w.get(m)); }
