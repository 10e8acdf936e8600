// What yields give and cost in a plain loop of training steps at a module's top level.
//
//     mlrun benches/memory/yields/main.js [STEPS] [BLOCKS] [ROWS]
//
// The loop of with.js asks for yields, that of plain.js is the same without. Both run in alternating
// blocks of STEPS steps on ROWS rows. Printed are how long an interval of 10 ms had to wait between
// two of its turns beside with.js, and the ratio of the blocks' processor times. On a busy machine the
// fastest blocks say most.

import { training } from "./step.js";

const [steps, blocks, rows] = [10_000, 9, 64].map((usual, i) => Number(process.argv[2 + i] ?? usual));

/** Milliseconds of processor time of the program's thread. */
function busy() {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

let began = 0, passed = 0;
globalThis.bench = {
  steps,
  step: training(rows),
  begin() {
    began = busy();
  },
  end() {
    passed = busy() - began;
  },
};
for (let i = 0; i < 500; i++) bench.step();

const gaps = [], times = { with: [], plain: [] };
async function block(kind, n) {
  const ticks = [];
  const tick = () => ticks.push([performance.now(), busy()]);
  tick();
  const interval = setInterval(tick, 10);
  await import(`./${kind}.js?${n}`); // a module runs once under its name
  clearInterval(interval);
  if (kind === "with") {
    for (let i = 1; i < ticks.length; i++) gaps.push([ticks[i][0] - ticks[i - 1][0], ticks[i][1] - ticks[i - 1][1]]);
  }
  return passed;
}

for (let n = 0; n < blocks; n++) {
  const order = n % 2 === 0 ? ["with", "plain"] : ["plain", "with"];
  for (const kind of order) {
    const passed = await block(kind, n);
    if (n > 0) times[kind].push(passed); // the first compiles
  }
}

const sorted = (values) => values.sort((a, b) => a - b);
/** What a part `q` of the values is below. */
const quantile = (values, q) => sorted(values)[Math.floor((values.length - 1) * q)];
for (const [i, name] of ["wall clock", "processor time"].entries()) {
  const all = sorted(gaps.map((gap) => gap[i]));
  console.log(`gaps of the interval, ms of ${name}: median ${quantile(all, 0.5).toFixed(1)}, longest ${all.at(-1).toFixed(1)}, ` +
    `above 20: ${all.filter((gap) => gap > 20).length} of ${all.length}`);
}
const ratio = (q) => (quantile(times.with, q) / quantile(times.plain, q)).toFixed(4);
console.log(`processor time with yields / without: of the fastest tenth ${ratio(0.1)}, medians ${ratio(0.5)}`);
