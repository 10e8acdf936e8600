import { full } from "mlrun";
const { print } = globalThis.harness;
const T = (n = 1) => full([2], n);
const f = () => { const a = T(1); try { return a; } finally { print(a.sum()); } };
const g = () => { const a = T(1); try { return a; } finally { return T(2); } };
print(f().add(g()));
function* gen(t) { try { let h = t; for (;;) { const got = yield h; h = h.add(got ?? 1); } } finally { print(t); } }
const it = gen(T(1));
it.next();
print(it.next(T(2)).value);
print(it.next().value);
it.return();
for (const v of gen(T(5))) { print(v); break; }
const pass = (...list) => { for (const v of list) { if (v) return v; } };
print(pass(null, T(8)));
out: for (const v of [T(1), T(2)]) { for (const w of [v, v.add(1)]) { print(w); if (w === v) continue out; } }
