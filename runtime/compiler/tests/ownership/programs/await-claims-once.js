import { full } from "mlrun";
const { print } = globalThis.harness;
const T = (n = 1) => full([2], n);
async function make(n) { const t = T(n); return t; }
async function use() { const v = await make(2); print(v.add(1)); const p = make(4); const w = await p; print(w.add(v)); print(await make(5)); }
await use();
const a = await make(3);
print(a.add(a));
