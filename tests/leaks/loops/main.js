// Loops over objects that a generator of their own iterates: what is yielded belongs to the loop.
import { data, nextTurn, tensor, zeros } from "mlrun";

const log = [];
class A { constructor(n) { this.n = n; } *[Symbol.iterator]() { try { for (let i = 0; i < this.n; i++) yield tensor([i]).add(this.n); } finally { log.push("fin"); } } }
for (const t of new A(3)) { log.push(t.item()); if (t.item() === 4) break; }
const keep = []; for (const t of new A(3)) keep.push(t); log.push(keep.map((t) => t.item()));
function f() { for (const t of new A(3)) return t; } log.push(f().item());
log.push([...new A(2)].map((t) => t.item()));
let last; for (last of new A(3)); log.push(last.item());
const a = new A(2); let n = 0;
for (const t of a) for (const u of a) n += t.mul(u).item(); log.push(n);
class B extends A { *[Symbol.iterator]() { for (const t of super[Symbol.iterator]()) yield t.mul(2); } }
for (const t of new B(2)) log.push(t.item());
class C { get [Symbol.iterator]() { log.push("get"); return function* () { yield tensor([1]); }; } }
for (const t of new C()) log.push(t.item());
const p = new Proxy(new A(2), { get(o, k, r) { log.push(String(k)); return Reflect.get(o, k, r); } });
for (const t of p) log.push(t.item());
const o = { t: tensor([5]), *[Symbol.iterator]() { yield this.t; yield this.t; } };
for (const t of o) log.push(t.item()); log.push(o.t.item());
try { for (const t of { *[Symbol.iterator]() { yield tensor([1]); throw new Error("x"); } }) log.push(t.item()); } catch (e) { log.push(e.message); }
class D { async *[Symbol.asyncIterator]() { for (let i = 0; i < 3; i++) { await nextTurn(); yield tensor([i]).add(1); } } }
for await (const t of new D()) { log.push(t.item()); }
const stash = []; for await (const t of new D()) { stash.push(t); if (stash.length === 2) break; } log.push(stash.map((t) => t.item()));
for (const [t] of new Map([[tensor([1]), 1]])) log.push(t.item());
for (const r of zeros([2, 2])) log.push(r.sum().item());
function g(x) { const out = []; for (const r of x) out.push(r); return out; } log.push(g(tensor([[1], [2]])).map((t) => t.item()));
{ const it = new A(2)[Symbol.iterator](); const b = { [Symbol.iterator]: () => it }; for (const t of b) log.push(t.item()); }
console.log(JSON.stringify(log));
for await (const [b] of new data.DataLoader(new data.TensorDataset(zeros([4, 1])), { batchSize: 2 })) console.log(b.shape);
