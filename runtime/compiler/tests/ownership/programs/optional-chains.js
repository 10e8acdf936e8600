import { full } from "mlrun";
const print = (...vs) => vs.map((v) => globalThis.harness.print(v)).length;
const T = (n = 1) => full([2], n);

// Values on the way through a chain are held, whatever runs meanwhile.
let o = { t: T(1), list: [T(2)], make: (x) => x.add(1), deep: { m(x) { o = { t: T(9), deep: null }; return this.u.add(x); }, u: T(3) } };
const swap = () => { o.t = T(7); return T(1); };
print(o?.t?.add(swap()));
print(o?.t.mul(2)?.add(o?.t)?.sum?.());
print(o.make?.(T(4))?.neg());
print(o.none?.(T(4)), o.none?.deep.er.x, o?.none?.[T(1)], o.nothing?.());
print(o.deep?.m?.(T(1)));
print(o.deep?.m(T(1)), o?.t);
print(o?.["t"]?.["add"](T(1)), o?.list?.[0]);
o = { t: T(1), take() { const t = this.t; this.t = null; o = null; return t; }, get g() { const t = this.t; this.t = T(5); return t; } };
print(o?.g?.add(o?.t), o.t);
print(o?.take?.()?.add(1), o);
print(o?.t ?? T(2), o?.x?.y?.z, o?.f(print("never")));

// Left where it was: references of which more than the value counts.
const r = { p: { q: T(1) }, me() { return this === r; } };
print(delete r?.p?.q, r.p.q, delete r?.none?.q, (r?.me)(), (r?.me)?.(), r.me?.());
const nothing = null;
print((nothing?.me)?.(), delete nothing?.x, typeof nothing?.x.y);

// Where it stops, the variable gives up what it held.
let x = T(1);
for (const from of [{ t: T(2) }, null, { t: T(3) }, {}]) {
  x = from?.t?.add(x);
  print(x);
  x ??= T(8);
}
const chained = (a) => a?.b?.c;
print(chained({ b: { c: T(6) } }), chained({}), chained());
const kept = { v: T(1) };
const again = () => kept?.v?.add(1);
print(again(), again());
async function later(a) { return (await a?.f?.(T(1)))?.add(1); }
print(await later({ f: async (t) => t.add(1) }), await later({}), await later());
function* steps(a) { yield a?.t?.add(1); yield* a?.list ?? []; }
print(...steps({ t: T(1), list: [T(2)] }), ...steps());
class P { #t = T(4); static of(p) { return p?.#t?.add(1); } m(f) { return f?.(this.#t)?.add(this?.#t); } }
print(P.of(new P()), P.of(), new P().m((t) => t.neg()), new P().m());
for (const t of o?.list ?? [T(1)]) print(t?.add?.(1));
if (kept?.v?.sum()) print("true");
const f = undefined, g = (...ts) => ts[1];
print(f?.(T(1)), g?.(T(1), ...[T(2)]), f?.[print("never")]);
const thrown = (h) => { try { return h(); } catch (e) { return e.message; } };
print(thrown(() => kept?.v.none()), thrown(() => kept?.v?.none(1)), thrown(() => kept.n?.m ?? kept.n.m), thrown(() => kept?.n.m), thrown(() => kept.v?.(1)));
const make = new Function("keep", "return { m(t) { keep.push(this, t); return t; } }");
const seen = [];
const foreign = make(seen);
foreign?.m?.(T(1)); foreign?.m(T(2)); foreign.m?.(T(3));
print(seen[1], seen[3], seen[5]);
const holder = { t: T(1), m: new Function("keep", "return function () { keep.push(this); return this.t; }")(seen) };
print(holder?.m?.(), holder.m?.());
holder.t = null;
print(seen.at(-1) === holder);
