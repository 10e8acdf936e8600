// What the collector costs where it does everything: training loops and plain churn without the
// ownership pass, beside small and large JavaScript heaps.
//
//     mlrun --no-ownership benches/memory/pacing.js [SECONDS] [churn|training]
//
// Per line: size of the tensors, JavaScript objects beside them, the share of time that all
// collections took, how many were run for tensors, the highest bytes of tensors. All times are
// processor time of the program's thread, so that a busy machine changes little.

import { gc, memoryStats, nn, ones, optim, randn, resetPeakMemory } from "mlrun";

const seconds = Number(process.argv[2] ?? 3);
const wanted = process.argv[3];
const objects = [0, 2_000_000];
const sizes = [["4 KB", 1 << 10], ["1 MB", 1 << 18], ["16 MB", 1 << 22]];

/** Four ops on tensors of `n` elements, results dropped. */
function churn(n) {
  const x = ones([n]);
  return () => x.add(1).mul(2).relu().sub(x).shape;
}

/** A step of training whose activations are about `n` elements each. */
function training(n) {
  const features = 64, rows = Math.max(1, n / features);
  const x = randn([rows, features]), y = randn([rows, features]);
  const model = new nn.Sequential(new nn.Linear(features, features), new nn.Tanh(), new nn.Linear(features, features));
  const optimizer = new optim.SGD(model.parameters(), { lr: 1e-4 });
  return () => {
    const loss = nn.functional.mseLoss(model.forward(x), y);
    optimizer.zeroGrad();
    loss.backward();
    optimizer.step();
  };
}

/** Milliseconds of processor time since a moment. */
function busy(since) {
  const { user, system } = process.threadCpuUsage(since);
  return (user + system) / 1000;
}

/** Steps for so many milliseconds; the clock is asked some hundred times only. */
function run(step, milliseconds) {
  const start = process.threadCpuUsage();
  let steps = 0;
  for (let batch = 1, passed = 0; passed < milliseconds;) {
    for (let i = 0; i < batch; i++) step();
    steps += batch;
    passed = busy(start);
    if (passed / steps * batch < milliseconds / 200) batch *= 2;
  }
  return { steps, passed: busy(start) };
}

function measure(step) {
  run(step, 1000 * seconds / 3); // until the pace has settled
  resetPeakMemory();
  const before = memoryStats();
  const { steps, passed } = run(step, 1000 * seconds);
  const after = memoryStats();
  return { share: (after.gcTime - before.gcTime) / passed, minor: after.minorGCs - before.minorGCs,
    major: after.majorGCs - before.majorGCs, peak: after.peakBytes, perStep: passed / steps };
}

console.log("loop      tensors    objects    time in GC    minor    major    peak MB    ms a step");
for (const count of objects) {
  const beside = Array.from({ length: count }, (_, i) => ({ i, next: null }));
  gc(); // what making them costs is not the loops' affair
  for (const [name, loop] of [["churn", churn], ["training", training]]) {
    if (wanted !== undefined && name !== wanted) continue;
    for (const [size, n] of sizes) {
      const { share, minor, major, peak, perStep } = measure(loop(n));
      console.log(name.padEnd(8), size.padStart(8), String(count).padStart(10), `${(share * 100).toFixed(2)} %`.padStart(13),
        String(minor).padStart(8), String(major).padStart(8), (peak / 1e6).toFixed(0).padStart(10), perStep.toFixed(3).padStart(12));
      gc();
    }
  }
  console.assert(beside.length === count);
}
