// A variable whose last use one declarator is, and that the next one fills: its slot must not be emptied behind both.
import { full } from "mlrun";
const { print } = globalThis.harness;
let n = 0;
const T = () => full([2], ++n);

{ let t = T(); const o = { p: t }, from = [t = T()]; print(t.add(1)); print(o.p.add(from[0])); }
{ let t = T(); const o = { p: t }, from = n && (t = T()), last = [t]; t = T(); print(t); print(o.p.add(from).add(last[0])); }
{ let t = T(); const o = [t, t], [x] = ([t] = [T()]), y = (n > 0 && (t = x.add(t)), t); print(t.add(y)); print(o[1]); }
function vars(t) { var o = { p: t }, t = T(), q = [t], { p: t } = { p: T() }; print(o.p.add(q[0])); return t; }
print(vars(T()).add(1));
for (let i = 0, t = T(); i < 3; i++) { const o = { p: t }, from = { p: (t = T()), q: [t] }; print(o.p.add(from.q[0])); print(t.neg()); }
