// Optimizers, schedules and clipping beside PyTorch; saved state goes on bit for bit.
// oracle.py makes oracle.json.
import { nn, optim, tensor } from "mlrun";
import oracle from "./oracle.json" with { type: "json" };

const make = {
  "SGD": (p) => new optim.SGD(p),
  "SGD momentum": (p) => new optim.SGD(p, { lr: 0.1, momentum: 0.9, dampening: 0.2, weightDecay: 0.05 }),
  "SGD nesterov": (p) => new optim.SGD(p, { lr: 0.1, momentum: 0.9, nesterov: true }),
  "SGD groups": (p) => new optim.SGD([{ params: [p[0]], lr: 0.5 }, { params: p[1], weightDecay: 0.1 }], { lr: 0.1 }),
  "Adam": (p) => new optim.Adam(p),
  "Adam settings": (p) => new optim.Adam(p, { lr: 0.01, betas: [0.8, 0.95], eps: 1e-3, weightDecay: 0.1 }),
  "Adam missing gradients": (p) => new optim.Adam(p, { lr: 0.01 }),
  "AdamW": (p) => new optim.AdamW(p, { lr: 0.02 }),
  "RMSprop": (p) => new optim.RMSprop(p),
  "RMSprop momentum": (p) => new optim.RMSprop(p, { lr: 0.01, alpha: 0.9, momentum: 0.8, weightDecay: 0.1 }),
  "RMSprop centered": (p) => new optim.RMSprop(p, { centered: true }),
  "RMSprop both": (p) => new optim.RMSprop(p, { centered: true, momentum: 0.5 }),
  "Adagrad": (p) => new optim.Adagrad(p),
  "Adagrad settings": (p) => new optim.Adagrad(p, { lr: 0.1, lrDecay: 0.2, weightDecay: 0.1, initialAccumulatorValue: 0.5 }),
  "Lion": (p) => new optim.Lion(p),
  "Lion settings": (p) => new optim.Lion(p, { lr: 0.01, betas: [0.8, 0.9], weightDecay: 0.3 }),
};
const missing = { "Adam missing gradients": [[0, 1], [2, 0]] };

const { lr } = optim;
const schedules = {
  "StepLR": (o) => new lr.StepLR(o, 5),
  "MultiStepLR": (o) => new lr.MultiStepLR(o, [3, 7, 7, 15], { gamma: 0.5 }),
  "ExponentialLR": (o) => new lr.ExponentialLR(o, 0.9),
  "LinearLR": (o) => new lr.LinearLR(o, { startFactor: 0.1, totalIters: 10 }),
  "ConstantLR": (o) => new lr.ConstantLR(o, { factor: 0.5, totalIters: 4 }),
  "CosineAnnealingLR": (o) => new lr.CosineAnnealingLR(o, 20, { etaMin: 1e-3 }),
  "CosineAnnealingWarmRestarts": (o) => new lr.CosineAnnealingWarmRestarts(o, 4, { tMult: 2, etaMin: 1e-3 }),
  "LambdaLR": (o) => new lr.LambdaLR(o, [(t) => 0.95 ** t, (t) => 1 / (1 + t)]),
  "OneCycleLR": (o) => new lr.OneCycleLR(o, 0.5, { totalSteps: 24 }),
  "OneCycleLR linear": (o) => new lr.OneCycleLR(o, [0.5, 0.2], { totalSteps: 24, annealStrategy: "linear", threePhase: true }),
  "ReduceLROnPlateau": (o) => new lr.ReduceLROnPlateau(o, { factor: 0.5, patience: 2, cooldown: 1 }),
  "SequentialLR": (o) => new lr.SequentialLR(o, [new lr.LinearLR(o, { startFactor: 0.1, totalIters: 5 }), new lr.CosineAnnealingLR(o, 15)], [5]),
};

const wrong = [];
let checked = 0;
function same(what, got, want, tolerance) {
  checked += want.length;
  const at = want.findIndex((w, i) => !(Math.abs(got[i] - w) <= tolerance * (1e-3 + Math.abs(w))));
  if (at >= 0) wrong.push(`${what}: number ${at} is ${got[at]}, expected ${want[at]}`);
}
const params = (dtype) => oracle.start.map((v, i) => new nn.Parameter(tensor(v, { dtype }).reshape(oracle.shapes[i])));
const gradient = (step, i, dtype) => tensor(oracle.grads[step][i], { dtype }).reshape(oracle.shapes[i]);

for (const [name, steps] of Object.entries(oracle.optimizers)) {
  for (const [dtype, tolerance] of [["float64", 1e-7], ["float32", 1e-4]]) {
    const own = params(dtype), optimizer = make[name](own);
    // A second run stops half way, and goes on in a new optimizer from saved state.
    const other = params(dtype);
    let resumed = make[name](other);
    steps.forEach((want, step) => {
      if (step === 2) {
        const saved = resumed.stateDict();
        resumed = make[name](other);
        resumed.loadStateDict(saved);
      }
      for (const [list, o] of [[own, optimizer], [other, resumed]]) {
        list.forEach((p, i) => {
          p.grad = missing[name]?.some(([s, k]) => s === step && k === i) ? null : gradient(step, i, dtype);
        });
        o.step();
      }
      want.forEach((w, i) => {
        const values = own[i].toTypedArray();
        same(`${name} ${dtype}, step ${step}, parameter ${i}`, values, w, tolerance);
        if (!other[i].toTypedArray().every((v, k) => Object.is(v, values[k]))) wrong.push(`${name} ${dtype}: step ${step} differs after loading`);
      });
    });
  }
}

for (const [name, rows] of Object.entries(oracle.schedules)) {
  const groups = () => [{ params: tensor([0], { requiresGrad: true }) }, { params: tensor([0], { requiresGrad: true }), lr: 0.01 }];
  let optimizer = new optim.SGD(groups(), { lr: 0.1, momentum: 0.9 });
  let schedule = schedules[name](optimizer);
  rows.forEach((want, i) => {
    if (i === 9) {
      const [o, s] = [optimizer.stateDict(), schedule.stateDict()];
      optimizer = new optim.SGD(groups(), { lr: 0.1, momentum: 0.9 });
      schedule = schedules[name](optimizer);
      optimizer.loadStateDict(o);
      schedule.loadStateDict(s);
    }
    const [a, b] = optimizer.paramGroups;
    same(`${name}, step ${i}`, [a.lr, b.lr, a.momentum], want, 1e-9);
    if (i + 1 < rows.length) schedule.step(...(name === "ReduceLROnPlateau" ? [oracle.metrics[i]] : []));
  });
}

const clips = {
  norm: (p) => nn.utils.clipGradNorm_(p, 1),
  large: (p) => nn.utils.clipGradNorm_(p, 100),
  infinity: (p) => nn.utils.clipGradNorm_(p, 0.5, { normType: Infinity }),
  one: (p) => nn.utils.clipGradNorm_(p, 2, { normType: 1 }),
  three: (p) => nn.utils.clipGradNorm_(p, 1, { normType: 3 }),
  value: (p) => nn.utils.clipGradValue_(p, 0.5),
};
for (const [name, { total, grads }] of Object.entries(oracle.clips)) {
  const own = params("float64");
  own.forEach((p, i) => p.grad = gradient(0, i, "float64"));
  const norm = clips[name](own);
  if (total !== null) same(`clip ${name}, total`, [norm.item()], [total], 1e-7);
  grads.forEach((g, i) => same(`clip ${name}, gradient ${i}`, own[i].grad.toTypedArray(), g, 1e-7));
}

// The average of a parameter that stands at 1 after it was 0.
const p = new nn.Parameter(tensor([0, 0]));
const ema = new optim.EMA([p], { decay: 0.9 });
p.detach().fill_(1);
for (let i = 0; i < 3; i++) ema.step();
same("EMA", ema.averages[0].toTypedArray(), [1 - 0.9 ** 3, 1 - 0.9 ** 3], 1e-5);
same("EMA in place", ema.swap(() => p.toTypedArray()), [1 - 0.9 ** 3, 1 - 0.9 ** 3], 1e-5);
same("EMA afterwards", p.toTypedArray(), [1, 1], 1e-9);

for (const line of wrong) console.log(line);
console.log(`${checked} numbers compared, ${wrong.length} wrong`);

// A cycle has a step after its last batch, and no more.
{
  const sgd = new optim.SGD([tensor([1], { requiresGrad: true })], { lr: 0.1, momentum: 0.9 });
  const cycle = new lr.OneCycleLR(sgd, 0.1, { totalSteps: 3 });
  const rates = [1, 2, 3].map(() => (sgd.step(), cycle.step(), sgd.paramGroups[0].lr.toExponential(6)));
  console.log(rates.join());
  try {
    cycle.step();
  } catch (error) {
    console.log(error.message);
  }
}
