// Time of one op on tiny tensors, seen from JavaScript: `mlrun benches/ops.js`.
//
// Prints nanoseconds per call, the median of alternating blocks; dropped results are disposed by
// hand where the column says so, else they are left to the collector.
import { noGrad, randn } from "mlrun";

const BLOCKS = 15, CALLS = 20_000;

const cases = {
  "a.add(b), dispose": (a, b) => { for (let i = 0; i < CALLS; i++) a.add(b).dispose(); },
  "a.add(b), collector": (a, b) => { for (let i = 0; i < CALLS; i++) a.add(b); },
  "a.add(1), dispose": (a) => { for (let i = 0; i < CALLS; i++) a.add(1).dispose(); },
  "a.exp(), dispose": (a) => { for (let i = 0; i < CALLS; i++) a.exp().dispose(); },
  "a.view([-1]), dispose": (a) => { for (let i = 0; i < CALLS; i++) a.view([-1]).dispose(); },
  "recorded add, dispose": (a, b, w) => { for (let i = 0; i < CALLS; i++) w.add(b).dispose(); },
};

function median(xs) {
  return xs.sort((a, b) => a - b)[xs.length >> 1];
}

for (const n of [1, 64, 1000]) {
  const a = randn([n]), b = randn([n]), w = randn([n]).requiresGrad_();
  const times = Object.fromEntries(Object.keys(cases).map((name) => [name, []]));
  for (let block = -2; block < BLOCKS; block++) {
    for (const [name, run] of Object.entries(cases)) {
      const start = performance.now();
      if (name.startsWith("recorded")) run(a, b, w);
      else noGrad(() => run(a, b, w));
      if (block >= 0) times[name].push((performance.now() - start) / CALLS * 1e6);
    }
  }
  for (const [name, xs] of Object.entries(times)) {
    console.log(`${String(n).padStart(5)} elements  ${name.padEnd(24)} ${median(xs).toFixed(0).padStart(5)} ns`);
  }
}
