import { full } from "mlrun";
const { print } = globalThis.harness;
const T = (n = 1) => full([2], n);
const mk = () => { const y = T(4); return (p) => p.mul(y).sum(); };
print(mk()(T(2)));
const mk2 = () => { const o = { t: T(3), read() { return () => this.t.sum(); } }; return o.read(); };
print(mk2()());
