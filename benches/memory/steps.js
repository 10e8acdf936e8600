// A long training run: what is there after each tenth of it, once everything that can be collected is.
//
//     mlrun [--no-ownership] benches/memory/steps.js [STEPS]
//
// After the first tenths, in which V8 optimizes the loop, no figure may grow.

import { gc, memoryStats, nn, optim, randn } from "mlrun";

const steps = Number(process.argv[2] ?? 100_000);
const x = randn([128, 16]), y = randn([128, 1]);
const model = new nn.Sequential(new nn.Linear(16, 32), new nn.Tanh(), new nn.Linear(32, 1));
const optimizer = new optim.Adam(model.parameters(), { lr: 1e-3 });

function step() {
  const loss = nn.functional.mseLoss(model.forward(x), y);
  optimizer.zeroGrad();
  loss.backward();
  optimizer.step();
}

console.log("     steps    tensors      bytes     pooled    JavaScript heap");
for (let done = 0; done <= steps; done += steps / 10) {
  gc();
  const { liveTensors, liveBytes, pooledBytes } = memoryStats(), { heapUsed } = process.memoryUsage();
  console.log([done, liveTensors, liveBytes, pooledBytes].map((n) => String(n).padStart(10)).join(" "), `${(heapUsed / 1e6).toFixed(2)} MB`.padStart(18));
  for (let i = 0; done < steps && i < steps / 10; i++) step();
}
