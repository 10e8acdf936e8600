// After a burst the process gives its memory back within a second of waiting, also where a timer
// keeps the event loop busy with little.
import { memoryStats, ones } from "mlrun";

const rss = () => process.memoryUsage().rss / 2 ** 20;
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const kept = ones([1 << 20]);
let beats = 0;
const heart = setInterval(() => beats++, 5);
await sleep(50);
const before = rss();

function burst() {
  const all = [];
  for (let i = 0; i < 40; i++) all.push(ones([1 << 20])); // 160 MB in large blocks
  for (let i = 0; i < 4000; i++) all.push(ones([2048])); // 32 MB in small ones
  return all.length;
}
console.log(burst(), rss() - before > 150);
console.log("waits for reuse", memoryStats().pooledBytes > 150e6);
await sleep(1000);
const { liveBytes, pooledBytes } = memoryStats();
console.log("beats", beats > 50, "pooled", pooledBytes <= 2 ** 20, "live", liveBytes === 2 ** 22);
console.log("given back", rss() - before < 0.2 * liveBytes / 2 ** 20 + 16 || rss() - before);
clearInterval(heart);
console.log(kept.size);
