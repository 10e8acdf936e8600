// A run that goes on from a checkpoint ends as one that was never interrupted; the folder keeps the newest and the best.
import { Checkpoints, manualSeed, nn, noGrad, optim, randn, tensor } from "mlrun";

manualSeed(2);
const x = randn([16, 3]), y = randn([16, 1]);
function setup() {
  manualSeed(4);
  const model = new nn.Sequential(new nn.Linear(3, 4), new nn.Tanh(), new nn.Linear(4, 1));
  const optimizer = new optim.AdamW(model.parameters(), { lr: 0.05 });
  return { model, optimizer, schedule: new optim.lr.CosineAnnealingLR(optimizer, 10) };
}
function train({ model, optimizer, schedule }, steps) {
  let loss;
  for (let i = 0; i < steps; i++) {
    loss = nn.functional.mseLoss(model.forward(x), y);
    optimizer.zeroGrad();
    loss.backward();
    optimizer.step();
    schedule.step();
  }
  return loss;
}

const whole = setup();
train(whole, 10);
const first = setup(), folder = new Checkpoints("run", { keep: 2 });
console.log("empty", folder.load({}), folder.latest(), folder.best(), folder.list());
console.log(folder.save(5, first, { metric: train(first, 5) }));
const second = setup();
console.log("resumed", folder.load(second).step);
train(second, 5);
const ends = [whole, second].map(({ model }) => noGrad(() => model.forward(x)).toArray().flat());
console.log("same end", ends[0].every((v, i) => Object.is(v, ends[1][i])), whole.schedule.getLastLr()[0] === second.schedule.getLastLr()[0]);

const steps = () => folder.list().map(({ step, metric }) => `${step}:${metric === null ? null : metric.toFixed(1)}`).join(" ");
const few = { t: tensor([1, 2]) };
for (const [step, metric] of [[10, 3], [11, 0.1], [12, NaN], [13, 2], [14, null]]) {
  folder.save(step, few, { metric });
  console.log("kept", steps());
}
console.log("best", folder.best().step, "latest", folder.latest().step, folder.load({ t: null }, { which: "best" }).step);
const upwards = new Checkpoints("up", { keep: 1, mode: "max" });
for (const metric of [1, 3, 2]) upwards.save(metric, few, { metric: tensor(metric) });
console.log("upwards", upwards.list().map((c) => c.step));

const values = { n: [0, -0, Infinity, NaN, 2n ** 70n, null, true, "x"], "a.b": tensor([1]), a: { b: tensor([2]) }, left: undefined };
folder.save(20, { values });
const back = folder.load({ values: null }).parts.values;
console.log("values", back.n, Object.is(back.n[1], -0), back["a.b"], back.a.b, Object.keys(back));

const refused = {
  "no folder": () => new Checkpoints(""),
  "keep nothing": () => new Checkpoints("x", { keep: 0 }),
  "another mode": () => new Checkpoints("x", { mode: "least" }),
  "a text as metric": () => folder.save(21, few, { metric: "x" }),
  "a function": () => folder.save(21, { f: () => 1 }),
  "an array that holds itself": () => {
    const list = [1];
    list.push({ list });
    folder.save(21, { list });
  },
  "a part that holds itself": () => {
    const part = { n: 1 };
    part.deeper = [{ part }];
    folder.save(21, { part, twice: [few, few] });
  },
  "a step before 0": () => folder.save(-1, few),
  "a missing step": () => folder.load(few, { which: 7 }),
  "another which": () => folder.load(few, { which: "worst" }),
  "a missing part": () => folder.load({ model: null }),
  "another shape": () => {
    folder.save(22, { model: new nn.Linear(3, 1) });
    folder.load({ model: new nn.Linear(2, 1) });
  },
};
for (const [what, call] of Object.entries(refused)) {
  try {
    call();
    console.log(`${what}: no error`);
  } catch (e) {
    console.log(`${what}: ${e.name}: ${e.message}`);
  }
}
