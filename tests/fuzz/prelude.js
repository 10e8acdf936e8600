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
// What strangers see: containers too would be seen by what older engines do behind `new`.
export const see = new Function("v", "if (v?.add) (globalThis.harness.seen ??= []).push(v);");
const stranger = (text) => new Function("see", `return ${text};`)(see);
export const foreignLook = stranger("(f) => { const o = f(); see(o.p); see(o.l?.[0]); see(o.i?.p); return o.p; }");
export const foreignFirst = stranger("(l) => { see(l[0]); return l[0]; }");
export const foreignLater = stranger("(p) => p.then((o) => { see(o.p); see(o.l?.[0]); })");
export const foreignMemo = stranger("(f) => (globalThis.harness.memo ??= f())");
export const foreignSteps = stranger("(g) => (function* () { for (const v of g) { see(v); yield v; } })()");
export const foreignIterate = stranger("(iterate) => function () { see(this[0]); return iterate.call(this); }");
export const foreignNext = stranger("(next) => function () { const step = next.call(this); see(Array.isArray(step.value) ? step.value[1] : step.value); return step; }");
export const foreignIterator = stranger("function () { const step = this.next(); see(Array.isArray(step.value) ? step.value[1] : step.value); return [step.value].values(); }");
export const foreignTest = stranger("{ [Symbol.hasInstance](v) { see(v); return true; } }");
export const ForeignMap = stranger("class extends Map { constructor(l) { super(l); see(l?.[0]?.[1]); } set(k, v) { see(v); return super.set(k, v); } }");
