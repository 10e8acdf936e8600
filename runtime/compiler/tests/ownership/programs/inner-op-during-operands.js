import { full } from "mlrun";
const { print } = globalThis.harness;
const T = (n = 1) => full([2], n);
const x = T(3);
const g = () => { const y = T(1).add(2); return y; };
print(x.add(g()));
print(x.sub(x.add(g())));
