import { full } from "mlrun";
const { print } = globalThis.harness;
const T = (n = 1) => full([2], n);
const a = [T(1), T(2)];
const it = a.values();
a.push(T(3));
const c = Array.from(it);
a.length = 0;
print(c[1]);
