// More attacks: everything is printed, to be compared between modes.
import { full, nn, noGrad, ones, optim, tidy } from "mlrun";
let n = 0; const T = () => full([2], ++n); const v = (t) => t.sum().item();
const out = [];
// getters, setters, proxies
const px = new Proxy({}, { set(t, k, val) { t[k] = val; return true; }, get(t, k) { return t[k]; } });
px.a = T(); const pa = px.a; px.a = T(); out.push(v(pa), v(px.a));
// frozen, sealed
const fr = Object.freeze({ t: T() }); out.push(v(fr.t)); const fz = Object.freeze([T(), T()]); out.push(v(fz[1]), v(fz[0]));
// symbol keys
const S = Symbol(); const so = { [S]: T() }; so[S] = T(); out.push(v(so[S]));
// defineProperty
const dp = {}; Object.defineProperty(dp, "x", { get: () => dp.y, configurable: true }); dp.y = T(); out.push(v(dp.x)); dp.y = null;
// array holes, length, delete, splice, sort, reverse, fill, copyWithin
const ar = [T(), , T()]; ar[1] = T(); const k1 = ar[1]; ar.length = 1; out.push(v(k1), ar.length);
const sp = [T(), T(), T(), T()]; const cut = sp.splice(1, 2); out.push(cut.map(v), sp.map(v)); sp.reverse(); sp.sort((a, b) => v(a) - v(b)); out.push(sp.map(v)); sp.fill(T()); out.push(sp.map(v)); delete sp[0];
const cw = [T(), T(), T()]; cw.copyWithin(0, 1); out.push(cw.map(v));
const un = []; un.unshift(T()); un.unshift(T(), T()); out.push(un.map(v)); const sh = un.shift(), po = un.pop(); out.push(v(sh), v(po), un.map(v));
const fl = [[T()], [T(), [T()]]].flat(Infinity); out.push(fl.map(v)); out.push([T(), T()].flatMap((t) => [t, t.add(1)]).map(v));
const at = [T(), T()].at(-1); out.push(v(at)); const wi = [T(), T()].with(0, T()); out.push(wi.map(v)); out.push([T(), T()].toReversed().map(v), [T()].concat([T()], T()).map(v));
out.push([T(), T(), T()].findLast((t) => true).sum().item(), [T()].entries().next().value[1].sum().item());
const [first, ...others] = [T(), T(), T()]; out.push(v(first), others.map(v)); const { p, ...more } = { p: T(), q: T(), r: T() }; out.push(v(p), v(more.q), v(more.r));
const nested = { a: { b: { c: T() } } }; const { a: { b } } = nested; nested.a = null; out.push(v(b.c));
// Reflect, Object functions
const ro = {}; Reflect.set(ro, "t", T()); out.push(v(Reflect.get(ro, "t"))); const as = Object.assign({}, { t: T() }); out.push(v(as.t)); out.push(Object.values({ a: T() }).map(v), Object.entries({ a: T() }).map(([, t]) => v(t)), Object.fromEntries([["k", T()]]).k.sum().item());
const group = Object.groupBy([T(), T()], (t) => v(t) % 4 ? "a" : "b"); out.push(Object.keys(group).join());
// call/apply/bind
function id(t) { return t; } out.push(v(id.call(null, T())), v(id.apply(null, [T()])), v(id.bind(null, T())()), v(Reflect.apply(id, null, [T()])));
const m = { t: T(), get() { return this.t; } }; const g = m.get.bind(m); m.t = T(); out.push(v(g())); const { get } = m; out.push(v(get.call({ t: T() })));
// arguments, default, rest
function ar1() { return arguments[0]; } out.push(v(ar1(T()))); function ar2(a) { arguments[0] = T(); return a; } out.push(v(ar2(T()))); const df = (a, b = a) => [a, b]; const [d1, d2] = df(T()); out.push(v(d1), v(d2)); const rs = (...r) => r; const kept = rs(T(), T()); out.push(kept.map(v));
// generators by hand, return, throw
function* gen() { const t = T(); try { const got = yield t; out.push(v(got)); yield got; } finally { out.push(v(t)); } } const gi = gen(); const y1 = gi.next().value; const y2 = gi.next(T()).value; gi.return(5); out.push(v(y1), v(y2));
function* inner() { yield T(); return T(); } function* outerG() { const r = yield* inner(); yield r; } const og = [...outerG()]; out.push(og.map(v));
for (const t of [T(), T()].values()) out.push(v(t)); const it = [T(), T()][Symbol.iterator](); const i1 = it.next().value; it.next(); out.push(v(i1));
// async
const later = (t) => new Promise((r) => setTimeout(() => r(t), 1)); const l1 = await later(T()); out.push(v(l1)); const all = await Promise.all([later(T()), (async () => T())()]); out.push(all.map(v)); const cache = (async () => T())(); out.push(v(await cache), v(await cache)); const then = await (async () => T())().then((t) => [t, t]); out.push(v(then[0]), v(then[1]));
async function* ag() { for (let i = 0; i < 3; i++) yield T(); } const agk = []; for await (const t of ag()) agk.push(t); out.push(agk.map(v)); for await (const t of [later(T()), T()]) out.push(v(t));
const { promise, resolve } = Promise.withResolvers(); resolve(T()); out.push(v(await promise)); const race = await Promise.any([later(T()), later(T())]); out.push(typeof v(race));
const slow = async (t) => { await null; await null; return t.add(1); }; const s1 = T(); const ps = slow(s1); const s2 = s1.mul(2); out.push(v(await ps), v(s2));
// closures in loops
const cl = []; for (let i = 0; i < 3; i++) { const t = T(); cl.push(() => t, () => t.add(i)); } out.push(cl.map((f) => v(f()))); const fs = {}; for (const k of ["a", "b"]) { let t = T(); fs[k] = { get: () => t, set: (x) => { t = x; } }; } fs.a.set(T()); out.push(v(fs.a.get()), v(fs.b.get()));
let counter = T(); const inc = () => (counter = counter.add(1)); inc(); const c1 = counter; inc(); out.push(v(c1), v(counter)); const mk = (t) => ({ next: () => (t = t.add(1)), now: () => t }); const mm = mk(T()); const n1 = mm.next(); mm.next(); out.push(v(n1), v(mm.now()));
// classes
class A { static s = T(); #p = T(); q = T(); get p() { return this.#p; } swap() { const o = this.#p; this.#p = this.q; this.q = o; return o; } static { A.z = T(); } } class B extends A { r = T(); swap() { const o = super.swap(); this.r = o; return this; } } const bb = new B(); const bq = bb.q; bb.swap().swap(); out.push(v(bb.p), v(bb.q), v(bb.r), v(bq), v(A.s), v(A.z)); const takeP = ({ p, q }) => [p, q]; out.push(takeP(new B()).map(v));
class Arr extends Array { } const aa = Arr.from([T(), T()]); out.push(aa.map((t) => t.add(1)).map(v), aa instanceof Arr); class M2 extends Map { set(k, t) { this.last = t; return super.set(k, t); } } const m2 = new M2(); m2.set(1, T()); m2.set(1, T()); out.push(v(m2.last), v(m2.get(1)));
const mixin = (C) => class extends C { extra = T(); }; const mi = new (mixin(A))(); out.push(v(mi.extra), v(mi.q));
// exceptions
const th = (t) => { try { throw t; } catch (e) { return e; } finally { T(); } }; out.push(v(th(T()))); let ex; try { const t = T(); throw Object.assign(new Error("x"), { t }); } catch (e) { ex = e; } out.push(v(ex.t)); const fin = () => { let t = T(); try { return t; } finally { t = T(); } }; out.push(v(fin())); lab: { const t = T(); if (v(t)) { ex = t; break lab; } } out.push(v(ex));
// logic
let lg = null; lg ??= T(); const lg0 = lg; lg &&= lg.add(1); lg ||= T(); out.push(v(lg0), v(lg)); const oc = { f: () => T() }; out.push(v(oc?.f?.()), v(oc.f?.().add(1)), oc.g?.(T()) ?? "none"); const tern = n % 2 ? T() : T(); const tt = (T(), T()); out.push(v(tern), v(tt)); const tag = (s, ...a) => a[0]; out.push(v(tag`x${T()}y`)); var hoisted = T(); { var hoisted = T(); } out.push(v(hoisted)); switch (T().sum().item() > 0) { case true: { const t = T(); ex = () => t; } default: out.push(v(ex())); }
// weak and structured
const wr = new WeakRef(lg); out.push(v(wr.deref())); const wm = new WeakMap([[lg, T()]]); out.push(v(wm.get(lg))); const sset = new Set([T(), T()]); out.push([...sset].map(v)); const mp = new Map([["a", [T()]]]); mp.get("a").push(T()); out.push(mp.get("a").map(v)); mp.get("a")[0] = T(); out.push(mp.get("a").map(v)); mp.forEach((x) => out.push(x.map(v)));
// library
const model = new nn.Sequential(new nn.Linear(2, 3), new nn.ReLU(), new nn.Linear(3, 1)); const opt = new optim.Adam(model.parameters(), { lr: 0.1 }); const params = model.parameters(); for (let i = 0; i < 3; i++) { opt.zeroGrad(); model.forward(ones([4, 2])).square().mean().backward(); opt.step(); } out.push(params.map((t) => t.shape.join()), model.stateDict !== undefined, Number.isFinite(v(params[0]))); const sd = model.stateDict(); model.loadStateDict(sd); out.push(Object.values(sd).every((t) => Number.isFinite(v(t)))); const hold = noGrad(() => params[0]); out.push(Number.isFinite(v(hold)), v(tidy(() => T())));
const view = (() => { const base = T().reshape([2, 1]); return base.T; })(); out.push(view.toArray()); const same = T(); out.push(v(same.contiguous()), v(same.to("float32")), v(same), v(same.add_(1)), v(same)); using u = T(); out.push(v(u));
globalThis.g1 = T(); globalThis.g2 = [T()]; globalThis.g1 = globalThis.g2[0]; out.push(v(globalThis.g1), v(globalThis.g2[0])); const evald = (0, eval)("(t) => { globalThis.g3 = t; return [t, t]; }"); const ev = evald(T()); ev[0] = null; out.push(v(ev[1]), v(globalThis.g3));
out.forEach((x, i) => console.log(i, JSON.stringify(x)));
