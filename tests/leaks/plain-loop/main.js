// A plain loop that never awaits and never releases: the collector alone keeps it flat.
import { memoryStats, zeros } from "mlrun";

for (let i = 0; i < 1000; i++) {
  zeros([512, 512]);
}
const { peakBytes, released } = memoryStats();
console.log(peakBytes < 80 * 2 ** 20, released.byMinorGC.tensors > 900, released.byMajorGC.tensors);
