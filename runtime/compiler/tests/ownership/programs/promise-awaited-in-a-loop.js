import { full } from "mlrun";
const { print } = globalThis.harness;
const T = (n = 1) => full([2], n);
let kept;
async function make(n) { const o = { t: T(n) }; kept = o; return o; }
async function again() {
  const p = make(3);
  for (let i = 0; i < 3; i++) { const o = await p; print(o.t.add(i)); }
}
await again();
print(kept.t);
const tensor = async (n) => { const t = T(n); return t; };
async function tensors() {
  const p = tensor(4);
  for (let i = 0; i < 3; i++) { const v = await p; print(v.add(i)); }
}
await tensors();
