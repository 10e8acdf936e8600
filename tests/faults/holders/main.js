// An error at the memory limit names the lines that hold most, without any option: samples suffice.
import { ones, TensorMemoryError } from "mlrun";

const cache = [];
function remember() {
  cache.push(ones([1024, 1024]));
}
const weights = ones([512, 1024]);
try {
  for (;;) remember();
} catch (e) {
  console.log(e instanceof TensorMemoryError, cache.length, e.message.replace(/\d+ bytes are live/, "N bytes are live"));
}
// The program goes on when it gives up what it held.
cache.length = 0;
console.log(weights.add(1).sum().item());
// One request that is larger than everything.
try {
  ones([1 << 14, 1 << 14]);
} catch (e) {
  console.log(e.name, cache.length, weights.sum().item());
}
