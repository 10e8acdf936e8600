// --memory-report: the text, and the page with its figures.
import { ones } from "mlrun";

const kept = ones([250, 1000]);
let last = null;
for (let i = 0; i < 10; i++) {
  last = kept.mul(i);
}
last.dispose();
console.log(kept.shape);
