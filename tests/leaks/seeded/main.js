// With a rule of the pass broken, --verify-ownership must say where the value came from and went.
import { full } from "mlrun";

const same = (x) => x;

function run() {
  const a = full([2], 1);
  const b = same(a);
  console.log(b.sum().item());
  console.log(a.sum().item());
}

class Kept {
  constructor(t) {
    this.t = t;
  }
}

function fields() {
  const o = new Kept(full([2], 2));
  const { t } = o;
  o.t = null;
  console.log(t.sum().item());
}

for (const f of [run, fields]) {
  try {
    f();
  } catch (e) {
    console.log(`${e.name}: ${e.message}`);
  }
}
