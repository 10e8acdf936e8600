import { full } from "mlrun";
const { print } = globalThis.harness;
const T = (n = 1) => full([2], n);
const load = async () => T(6);
const cached = load();
async function f() { return cached; }
const a = await f();
print(a);
const b = await f();
print(b.add(a));
print(await cached);
