// Loop variables that closures capture are counted by nobody: what is assigned to them is shared.
import { full } from "mlrun";
const { print } = globalThis.harness;

const later = [];
function run(n) {
  let x = full([2], n);
  for (let t = full([2], n), i = 0; i < 3; t = x, x = full([2], i), i++) later.push(() => t);
  for (let i = 0, t; i < 2; i++) {
    const y = full([2], i);
    t = y;
    later.push(() => t);
    print(y.add(1));
  }
}
run(7);
for (const f of later) print(f());
