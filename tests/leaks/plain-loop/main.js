// A plain loop that never awaits and never releases: the collector alone keeps it flat. Under
// this limit it may not save time by collecting less often than after each 64 MB.
import { memoryStats, zeros } from "mlrun";

for (let i = 0; i < 1000; i++) {
  zeros([512, 512]);
}
const { peakBytes, released } = memoryStats();
console.log(peakBytes < 80 * 2 ** 20, released.byMinorGC.tensors > 900, released.byMajorGC.tensors);
