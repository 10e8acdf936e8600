import { full } from "mlrun";
const { print } = globalThis.harness;
const T = (n = 1) => full([2], n);
let w = T(5);
const o = Object.assign({}, { get h() { return w; } });
const seen = o.h;
w = null;
print(seen);
