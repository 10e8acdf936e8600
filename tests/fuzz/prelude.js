// What random programs call: functions and classes that the pass compiles, and code that it does not know.
//
// Invariant: nothing here outlives a program but through `globalThis.harness`, which each program gets anew.
// Programs import this file or have its text inside, so that callees are of the same file or of another.
export const id = (x) => x;
export const builtinId = new Function("x", "return x");
export const remember = new Function("x", "(globalThis.harness.held ??= []).push(x); return x;");
export const keepArray = new Function("a", "(globalThis.harness.arrays ??= []).push(a);");
export class Box {
  constructor(p) { this.p = p; this.q = p; }
  get() { return this.p; }
  set(v) { this.p = v; }
}
export const seenBy = new Function("o", "(globalThis.harness.seen ??= []).push(o.p);");
export const seeLater = (o) => { seenBy(o); };
export const seeResult = new Function("f", "const o = f(); (globalThis.harness.seen ??= []).push(o.p, o.q.p);");
export const foreignNew = new Function("C", "t", "const o = new C(t); (globalThis.harness.seen ??= []).push(o.p); return o;");
export const takers = [];
let taking = false;
export const take = () => {
  if (taking) return;
  taking = true;
  try { for (const f of takers) f(); } finally { taking = false; }
};
export class Taker {
  constructor(p, q) { this.p = p; this.q = q; this.o = { p: q.add(1), q: p }; }
  get g() { take(); this.p = this.q.neg(); return this.q; }
  get h() { const old = this.p; this.o = { p: this.p, q: this.q.neg() }; take(); this.q = old.add(1); return old; }
  get sum() { take(); return this.p.add(this.q); }
  valueOf() { take(); return this.p.add(this.q).index(0).item(); }
  *[Symbol.iterator]() { take(); yield this.p; take(); yield this.q; }
}
export const foreignTaker = new Function("take", "return (p, q) => ({ p, q, o: { p, q }, get g() { take(); this.p = q; return this.q; }, get h() { const old = this.p; take(); this.q = old; return old; } })")(take);
export class Odd extends Array { static get [Symbol.species]() { return Array; } }
export const foreignBase = new Function("return class { constructor(p) { this.p = p; } }")();
