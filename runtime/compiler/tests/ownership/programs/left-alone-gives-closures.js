import { full } from "mlrun";
const { print } = globalThis.harness;
const T = (n = 1) => full([2], n);
// The function with a rest element in a pattern is left alone, and what it gives is compiled.
const make = ({ ...r }) => (y) => { r.y = y; return y.add(r.t); };
const kept = { t: T(3), u: T(4) };
const f = make(kept);
const a = T(2);
print(f(a));
kept.t = null;
kept.u = null;
print(f(a).add(a));
const hold = ({ ...r }) => y => (r.y ??= y);
const g = hold({ t: T(5) });
const first = () => g(T(6));
const second = () => { let x = first(); x = x.add(1); return x; };
print(second());
print(g(T(7)));
