// What a parameter's default has made waits for its function; code that runs meanwhile must not take it.
import { full } from "mlrun";
const { print } = globalThis.harness;
let last, made = 0;
const T = () => (last = full([2], ++made));
const inner = ({ p = T() } = {}) => p.sum();
const nested = (p = T(), q = inner({ p })) => p.add(q);
const spoil = () => { inner({ p: last }); inner({ p: last }); nested(last); last = null; return 1; };
const source = { get b() { return spoil(); }, get c() { return last ?? 2; } };
function named({ w = T(), b } = source) { return w.add(b); }
function three({ w = T(), b, c = 5 } = source) { return w.add(b).mul(c); }
function row(w = T(), { b } = source) { return w.add(b); }
function list([w = T(), b] = { *[Symbol.iterator]() { yield undefined; yield spoil(); } }) { return w.add(b); }
function computed(w = T(), b = spoil(), c = w.add(b)) { return w.mul(c); }
function* later(w = T(), { b } = { b: 1 }) { yield w.add(b); last = null; yield w; }
function recursive(w = T(), n = 2, b = n > 0 ? recursive(w, n - 1) : full([2], 1)) { last = null; return w.add(b); }
function fails({ w = T(), b } = { get b() { throw new Error("no"); } }) { return w; }
function assigned(w = T(), b = (w = T()), c = (last = null)) { return w.add(b); }
for (const f of [named, three, row, list, computed, recursive, assigned]) { print(f()); print(f()); }
for (const v of later()) print(v);
{ const g = later(); print(named()); print(g.next().value); print(three({ w: full([2], 7), b: full([2], 8), c: full([2], 9) })); print(g.next().value); }
for (let i = 0; i < 40; i++) { try { fails(); } catch (e) { if (i === 0) print(e.message); } }
print(named()); print(three()); print(nested()); print(nested(full([2], 3), full([2], 4)));
