import { full } from "mlrun";
const { print } = globalThis.harness;
const T = (n = 1) => full([2], n);
const f = (a, b, c) => { xs.length = 0; return a.add(b).add(c); };
let xs = [T(1), T(2), T(3)];
print(f(...xs));
xs = [T(4), T(5)];
print(f(T(1), ...xs));
const keepAll = new Function("...v", "globalThis.harness.all = v;");
xs = [T(6), T(7)];
keepAll(...xs);
xs[0] = null;
print(globalThis.harness.all[0]);
const filled = () => { const out = []; for (let i = 0; i < 3; i++) out.push(T(i)); const o = {}; o.p = out[1]; out[1] = null; return o.p.add(out[2]); };
print(filled());
class Many { constructor(...v) { this.v = v; } }
const m = new Many(...[T(1), T(2)]);
print(m.v[1]);
