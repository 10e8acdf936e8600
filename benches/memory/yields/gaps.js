// How long an interval of 10 ms waits beside a plain loop of training steps at a module's top level.
//
//     mlrun benches/memory/yields/gaps.js [STEPS] [ROWS]
//
// The loop of with.js asks for yields. Printed are the gaps between two turns of the interval, by the
// clock and in processor time of the program's thread: on a busy machine the clock counts what other
// programs took.

import { training } from "./step.js";

const [steps, rows] = [50_000, 64].map((usual, i) => Number(process.argv[2 + i] ?? usual));

/** Milliseconds of processor time of the program's thread. */
function busy() {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

const ticks = [];
const tick = () => ticks.push([performance.now(), busy()]);
globalThis.bench = { steps, step: training(rows) };
for (let i = 0; i < 500; i++) bench.step();
tick();
const interval = setInterval(tick, 10);
await import("./with.js");
clearInterval(interval);

for (const [i, name] of ["wall clock", "processor time"].entries()) {
  const gaps = ticks.slice(1).map((at, n) => at[i] - ticks[n][i]).sort((a, b) => a - b);
  console.log(`gaps of the interval, ms of ${name}: median ${gaps[gaps.length >> 1].toFixed(1)}, ` +
    `longest ${gaps.at(-1).toFixed(1)}, above 20: ${gaps.filter((gap) => gap > 20).length} of ${gaps.length}`);
}
