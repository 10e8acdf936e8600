// Counts of tensors and bytes, disposal, and what the collector finds.
import { gc, memoryStats, ones, resetPeakMemory, setMemoryLimit, TensorMemoryError, zeros } from "mlrun";

const rest = memoryStats();
const grown = () => {
  const now = memoryStats();
  return [now.liveTensors - rest.liveTensors, now.liveBytes - rest.liveBytes];
};
const a = zeros([256]), v = a.narrow(0, 0, 16);
console.log("a tensor and a view", grown());
a.dispose();
console.log("the view keeps the bytes", grown(), v.sum().item());
gc();
v.dispose();
v.dispose();
console.log("all gone", grown(), v.isDisposed);
{
  using t = ones([1024]);
  console.log("using", grown(), t.sum().item());
}
gc();
console.log("after using", grown());

function forget() {
  for (let i = 0; i < 1000; i++) ones([64]);
}
forget();
gc();
console.log("collected", grown());

// A loop that drops 400 MB without a single await stays far below that.
resetPeakMemory();
for (let i = 0; i < 400; i++) ones([1 << 18]);
console.log("a synchronous loop is paced", memoryStats().peakBytes - rest.liveBytes < 200e6);
gc();

setMemoryLimit(memoryStats().liveBytes + 1000);
let caught = 0;
for (let i = 0; i < 100; i++) {
  try {
    zeros([1000]);
  } catch (e) {
    if (e instanceof TensorMemoryError && e instanceof RangeError) caught++;
  }
}
setMemoryLimit(Infinity);
console.log("limit", caught, grown(), zeros([1000]).sum().item());
