import { full } from "mlrun";
const { print } = globalThis.harness;
const T = (n = 1) => full([2], n);
const l = [];
for (let t = T(), i = 0; i < 3; t = t.add(1), i++) l.push(() => t);
for (const f of l) print(f());
