import { full } from "mlrun";
const { print } = globalThis.harness;
const T = (n = 1) => full([2], n);
const x = T(2);
const f = (a = x.add(5), b = a.mul(2), c = [a, b]) => { const r = a.add(b).add(c[0]); a = null; return r; };
print(f());
print(f(x));
print(f(undefined, x));
print(x);
let kept;
const g = ({ p = x.neg(), q: [r, s = x.add(p)] = [p] } = {}, h = () => p) => { kept = h; return r.add(s); };
print(g());
print(kept());
print(g({ p: x }));
const boom = () => { throw new Error("boom"); };
const h = (a = x.add(1), k = () => a, b = (kept = k, boom())) => a;
try { h(); } catch (e) { print(e.message); }
const v = kept();
const take = (a = x.add(9)) => a.sum();
print(take(v));
print(kept());
function legacy(a, b = x.mul(3)) { arguments[0] = null; return b.add(a); }
print(legacy(x));
function sloppy() { const [a] = arguments; return a.add(1); }
print(sloppy(x.add(1)));
function count(...xs) { return xs.length + arguments.length; }
print(count(...[T(1), T(2)], T(3)));
