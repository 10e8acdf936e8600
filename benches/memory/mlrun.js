// The programs of compare.py in mlrun: `mlrun benches/memory/mlrun.js NAME STEPS`.
import { nn, ones, optim, randn } from "mlrun";

const [name, steps] = [process.argv[2], Number(process.argv[3])];

function training() {
  const x = randn([512, 64]), y = randn([512, 1]);
  const model = new nn.Sequential(new nn.Linear(64, 256), new nn.Tanh(), new nn.Linear(256, 1));
  const optimizer = new optim.Adam(model.parameters(), { lr: 1e-3 });
  return () => {
    const loss = nn.functional.mseLoss(model.forward(x), y);
    optimizer.zeroGrad();
    loss.backward();
    optimizer.step();
  };
}

function window() {
  const last = [];
  return () => {
    last.push(randn([256, 1024]));
    if (last.length > 3) last.shift();
  };
}

function chain() {
  let x = ones([512, 512]);
  return () => {
    x = x.mul(0.5).add(1);
  };
}

const programs = { drop: () => () => randn([256, 1024]), chain, window, training };
const step = programs[name]();
step();
console.log("start");
for (let i = 0; i < steps; i++) step();
console.log("end");
