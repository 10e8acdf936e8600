// With a rule of the pass broken, --verify-ownership=all must name the release of plain objects, too.
import { full } from "mlrun";

class Box {
  constructor(t) {
    this.t = t;
  }
}
const same = (box) => box;

function lent() {
  const a = new Box(full([2], 1));
  const b = same(a);
  console.log(b.t.sum().item());
  console.log(a.t.sum().item());
}

function field() {
  const outer = { box: new Box(full([2], 2)) };
  const { box } = outer;
  outer.box = null;
  console.log(box.t.sum().item());
}

for (const f of [lent, field]) {
  try {
    f();
  } catch (e) {
    console.log(`${e.name}: ${e.message}`);
  }
}
