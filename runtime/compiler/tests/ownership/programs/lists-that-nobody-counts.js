// What a list holds that nobody counts keeps its count when it is spread into one that is counted.
import { full } from "mlrun";
const { print } = globalThis.harness;
let made = 0;
const T = () => full([2], ++made);
const loose = () => Array.prototype.map.call([1, 2], T);
const take = (xs) => { const t = xs.pop(); return t === undefined ? 0 : t.sum(); };
{ const r = loose(), xs = []; xs.push(...r); print(take(xs)); print(take(xs)); print(r[0]); print(r[1]); }
{ const r = loose(), xs = [T()]; xs.unshift(T(), ...r); for (let i = 0; i < 4; i++) print(take(xs)); print(r[0]); print(r[1]); }
{ const r = loose(), xs = [T(), T()]; const gone = xs.splice(0, 1, ...r, T()); print(gone[0]); while (xs.length > 0) print(take(xs)); print(r[0]); print(r[1]); }
{ const r = [T(), T()], xs = []; xs.push(T(), ...r, ...r); r.length = 0; while (xs.length > 0) print(take(xs)); }
{ const xs = [], held = []; const it = { *[Symbol.iterator]() { const t = T(); held.push(t); yield t; yield t; } }; xs.push(...it); print(take(xs)); print(take(xs)); print(held[0]); }
{ const xs = []; xs.push(...new Set([T()])); print(take(xs)); xs.push(..."ab"); print(xs.length); }
{ const xs = Array.of(T(), T()), t = xs[0]; xs.length = 0; print(t); print(Array.of(t)[0]); }
function* gen(t) { yield t; const u = t.add(1); yield u; yield u; }
{ const t = T(), xs = Array.from(gen(t)), u = xs[1]; xs.length = 0; print(t); print(u); }
{ const [a, b] = gen(T()); print(a); print(b); const [c] = gen(a), [, d, e] = gen(b); print(c.add(d).add(e)); }
{ let a, b; [a, b] = gen(T()); print(a.add(b)); for (let i = 0; i < 2; i++) { [a] = gen(a); print(a); } }
{ const g = gen(T()); print(g.next().value); const [a] = g; print(a); print(Array.from(g).length); }
