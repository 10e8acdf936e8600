import { full } from "mlrun";
const { print } = globalThis.harness;
const T = (n = 1) => full([2], n);
function* pairs(t, n) { for (let i = 0; i < n; i++) yield [t.add(i), t]; }
function* mapped(source, f) { for (const v of source) yield f(v); }
function* flat(source) { yield* source; yield T(9); }
let x = T(1);
for (const [a, b] of pairs(x, 3)) { x = a.add(b); print(x); }
for (const v of mapped(pairs(T(2), 3), ([a]) => a.mul(2))) { print(v); if (v.index(0).item() > 4) break; }
for (const v of flat(mapped(pairs(T(2), 2), ([a]) => a))) print(v);
const it = pairs(T(3), 4);
const { value: held } = it.next();
for (const [a] of it) { print(a); const more = it.next(); if (!more.done) print(more.value[0]); }
print(held[0]);
const all = [...pairs(T(4), 2)];
print(all[1][0].add(all[0][1]));
let stolen = [];
pairs.prototype.next = new Function("n", "return function () { const r = n.call(this); globalThis.harness.stolen ??= []; globalThis.harness.stolen.push(r.value?.[0]); return r; }")(pairs(T(1), 1).next);
for (const [a] of pairs(T(5), 2)) print(a);
print(globalThis.harness.stolen[0]);
delete pairs.prototype.next;
const yielder = (t) => (function* () { const same = t; yield same; yield same; print(same); })();
for (const v of yielder(T(6))) print(v);
class Loader { constructor() { this.t = T(7); } *batches(n) { for (let i = 0; i < n; i++) yield this.t.add(i); } *[Symbol.iterator]() { yield* this.batches(2); } }
for (const b of new Loader().batches(2)) print(b);
for (const b of new Loader()) print(b);
async function* slow(t, n) { for (let i = 0; i < n; i++) { await null; yield t.add(i); } }
for await (const v of slow(T(8), 3)) { print(v); if (v.index(0).item() === 9) break; }
const later = [];
for await (const v of slow(T(1), 2)) later.push(v);
print(later[0].add(later[1]));
for await (const v of [T(1), T(2)]) print(v);
const ag = slow(T(3), 3);
for await (const v of ag) { print(v); const n = ag.next(); print((await n).value ?? "end"); }
try { for (const [a] of pairs(T(1), 3)) { if (a.index(0).item() === 2) throw new Error("stop"); } } catch (e) { print(e.message); }
const out = () => { for (const [a] of pairs(T(2), 3)) { try { return a; } finally { print(a.neg()); } } };
print(out());
outer: for (const [a] of pairs(T(1), 2)) { for (const [b] of pairs(a, 2)) { print(b); continue outer; } }
function* closing(t) { try { yield t; } finally { print(t); yield t.add(1); } }
for (const v of closing(T(4))) { print(v); break; }
