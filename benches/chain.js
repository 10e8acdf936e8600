// 10,000 chained additions, as JSON in nanoseconds an op; started by chain.py, or by hand.
//
//   mlrun benches/chain.js                   # every case
//   mlrun benches/chain.js "64 plain" 100    # one case, as many times; prints nothing
import { noGrad, ones, randn } from "mlrun";

// What the first case is measured with must be compiled by then.
const CALLS = 10_000, WARM = 30, BLOCKS = 9;

function chain(x, y) {
  for (let i = 0; i < CALLS; i++) x = x.add(y);
  return x;
}
const cases = {
  plain: (x, y) => noGrad(() => chain(x, y).index(0).item()),
  recorded: (x, y) => chain(x, y).index(0).item(),
  "forward and backward": (x, y, g) => {
    chain(x, y).backward(g);
    x.grad = null;
  },
};

const median = (xs) => xs.sort((a, b) => a - b)[xs.length >> 1];
const [only, times] = process.argv.slice(2);
const result = {};
for (const n of [1, 64, 1024]) {
  const x = randn([n]).requiresGrad_(), y = randn([n]), g = ones([n]);
  for (const [name, run] of Object.entries(cases)) {
    if (only !== undefined) {
      if (only === `${n} ${name}`) for (let i = 0; i < Number(times); i++) run(x, y, g);
      continue;
    }
    const blocks = [];
    for (let block = -WARM; block < BLOCKS; block++) {
      const start = performance.now();
      run(x, y, g);
      if (block >= 0) blocks.push((performance.now() - start) / CALLS * 1e6);
    }
    result[`${n} ${name}`] = median(blocks);
  }
}
if (only === undefined) console.log(JSON.stringify(result));
