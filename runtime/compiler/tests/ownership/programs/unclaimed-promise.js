import { full } from "mlrun";
const { print } = globalThis.harness;
const T = (n = 1) => full([2], n);
let keep;
async function make() { const o = { t: T(4) }; keep = o; return o; }
const look = new Function("p", "return p.then((o) => { globalThis.harness.seen = o.t; })");
await look(make());
keep.t = null;
print(globalThis.harness.seen);
async function patterned({ n = 3 } = {}) { const o = { t: T(n) }; keep = o; return o; }
await look(patterned());
keep.t = null;
print(globalThis.harness.seen);
const p = make();
const a = await p;
const b = await p;
keep.t = null;
print(a.t === b.t ? "same" : "other");
print((await p) === a);
