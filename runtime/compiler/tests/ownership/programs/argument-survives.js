import { full } from "mlrun";
const { print } = globalThis.harness;
const T = (n = 1) => full([2], n);
const f = (t) => t.add(1);
const a = T(2);
print(f(a));
print(a.sum());
let kept;
for (const g of [(t) => [t], Array.of]) { kept = g(T(4)); print(kept[0]); }
print(kept[0].sum());
const hold = (t) => () => t;
const h = hold(T(3));
print(h());
print(h().add(h()));
