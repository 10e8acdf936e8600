// Loops that never await, without the pass: the collector alone keeps the whole process flat.
import { memoryStats, nn, optim, randn } from "mlrun";

const MB = 2 ** 20, limit = 256;
const rss = () => process.memoryUsage().rss / MB;
const base = rss();

function highest(steps, step) {
  let most = 0;
  for (let i = 0; i < steps; i++) {
    step(i);
    if (i % 50 === 0) most = Math.max(most, rss());
  }
  return most;
}

let most = highest(1200, () => randn([256, 1024])); // 1.2 GB
console.log("tensors dropped in a loop", most < base + 1.2 * limit || most - base);

const x = randn([512, 64]), y = randn([512, 1]);
const model = new nn.Sequential(new nn.Linear(64, 256), new nn.Tanh(), new nn.Linear(256, 1));
const optimizer = new optim.Adam(model.parameters(), { lr: 1e-3 });
const step = () => {
  const loss = nn.functional.mseLoss(model.forward(x), y);
  optimizer.zeroGrad();
  loss.backward();
  optimizer.step();
};
const first = highest(100, step), later = highest(300, step);
console.log("training", later < base + 1.2 * limit || later - base, "slope", later - first < 24 || later - first);
const { peakBytes, released } = memoryStats();
console.log(peakBytes <= limit * MB, released.byMinorGC.bytes > 1200 * MB);
