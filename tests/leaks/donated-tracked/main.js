// A handle that the collector watches is ended by an op; another one gets its slot and is left to
// the collector. The end of the first must not take the second's finalizer with it.
import { gc, memoryStats, ones } from "mlrun";

const uncounted = new Function("...list", "return list");
const births = (n) => {
  for (let i = 0; i < n; i++) ones([1]);
};

function round() {
  let x = ones([4]);
  births(600); // from now on the collector watches x
  x = x.add(1);
  const y = x.mul(2), z = y.add(x);
  const seen = uncounted(y, z); // code that counts nothing holds them
  births(600);
  return seen.length;
}

const before = memoryStats().liveTensors;
for (let i = 0; i < 20; i++) {
  round();
  if (i % 5 === 4) gc();
}
gc();
const { liveTensors, released } = memoryStats();
console.log("left", liveTensors - before, "by the collector", released.byMajorGC.tensors + released.byMinorGC.tensors >= 40);
