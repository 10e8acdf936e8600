// Constructs that must be flat without any help of a collector; values are checked as well.
import { autograd, concat, data, full, gc, grad, keep, memoryStats, nn, noGrad, optim, randn, tidy, valueAndGrad, where, zeros } from "mlrun";

const F = nn.functional;
const collected = (s) => s.released.byMinorGC.tensors + s.released.byMajorGC.tensors;
let sink = 0;

function flat(name, step) {
  for (let i = 0; i < 4; i++) step(i);
  gc();
  const rest = memoryStats();
  let worst = 0;
  for (let i = 0; i < 25; i++) {
    step(i);
    worst = Math.max(worst, memoryStats().liveTensors - rest.liveTensors);
  }
  const left = collected(memoryStats()) - collected(rest);
  console.log(name, worst <= 0 && left === 0 ? "flat" : `grows to +${worst}, ${left} left to the collector`);
}

const x = randn([4, 6]), y = randn([4, 6]), w0 = randn([6, 3]), mask = x.gt(0);

flat("power iteration", () => {
  let v = full([6], 1);
  for (let k = 0; k < 5; k++) {
    const u = x.T.matmul(x).matmul(v);
    v = u.div(u.square().sum().sqrt());
  }
  sink += v.sum().item();
});
flat("early return from nested loops", () => {
  const find = (t) => {
    for (let i = 0; i < 3; i++) for (let j = 0; j < 3; j++) {
      const s = t.mul(i).add(j);
      if (i * j === 2) return s;
    }
    return t;
  };
  sink += find(x).sum().item() + find(y).mean().item();
});
flat("ternary chains", (i) => {
  const z = i % 3 === 0 ? x.add(1) : i % 3 === 1 ? x : y.neg();
  sink += (z.sum().item() > 0 ? z.relu() : z.neg()).mean().item();
});
flat("ignored library results", () => {
  F.softmax(x, -1);
  F.mseLoss(x, y);
  where(mask, x, y);
  x.max(1);
  concat([x, y]);
});
flat("named fields of results", () => {
  const { values, indices: at } = x.max(1);
  sink += values.sum().item() + Number(at.sum().item());
});
flat("gradients by hand", () => {
  const w = w0.detach().requiresGrad_();
  x.matmul(w).square().mean().backward();
  const g = w.grad;
  sink += g.sum().item();
  w.grad = null;
});
flat("autograd.grad", () => {
  const w = w0.detach().requiresGrad_();
  const [g] = autograd.grad(x.matmul(w).tanh().sum(), [w]);
  sink += g.sum().item();
});
let state = { w: w0.clone(), seen: [] };
flat("state that is copied and changed", () => {
  const next = { ...state, w: state.w.sub(x.mean()), seen: [...state.seen, x.sum()].slice(-2) };
  const { w, ...others } = { ...next, extra: y.neg() };
  state = next;
  sink += w.sum().item() + others.extra.mean().item() + { ...others }.seen.length;
});
const given = { scale: y, inner: { act: (t) => t.relu(), seen: null }, onStep(t) { sink += t.sum().item(); } };
flat("optional chains", (i) => {
  const h = given?.scale?.mul(2)?.add(x);
  let z = given.inner?.act?.(h).neg();
  z = given?.inner.act(z)?.add(1) ?? z;
  given.onStep?.(z.mean());
  given.none?.(z.mul(2));
  const cb = i % 2 ? given.inner.act : null;
  sink += (cb?.(z.neg())?.sum().item() ?? 0) + (z?.mean().item() ?? 0);
});
let w = w0.clone();
flat("descent by valueAndGrad", () => {
  const [loss, g] = valueAndGrad((p) => x.matmul(p).square().mean())(w);
  w = w.sub(g.mul(0.01));
  sink += loss.item();
});
flat("gradient with further arguments", () => {
  sink += grad((p, a, b) => p.mul(a).add(b).sum())(x, y, 2).sum().item();
});
flat("gradients of a tree", () => {
  const [, g] = valueAndGrad(({ a, b: [c] }) => a.mul(c).sum())({ a: x, b: [y] });
  sink += g.a.sum().item() + g.b[0].sum().item();
});
flat("noGrad in place", () => {
  const p = w0.detach().requiresGrad_();
  noGrad(() => { p.mul_(0.5).add_(1); });
  sink += noGrad(() => p.sum()).item();
});
flat("tidy with kept values", () => {
  const s = tidy(() => {
    const a = x.add(1), b = a.exp();
    return { s: b.sum(), list: [a.mean()] };
  });
  sink += s.s.item() + s.list[0].item();
});
const model = new nn.Linear(6, 2);
const opt = new optim.SGD(model.parameters(), { lr: 0.01, momentum: 0.9 });
flat("training step", () => {
  opt.zeroGrad();
  const loss = model.forward(x).square().mean();
  loss.backward();
  opt.step();
  sink += loss.item();
});
const queue = [zeros([2]), zeros([2]), zeros([2])];
flat("queue of the last three", (i) => {
  queue.push(full([2], i));
  const gone = queue.shift();
  sink += gone.sum().item();
});
flat("matrix of tensors", () => {
  const grid = [];
  for (let i = 0; i < 3; i++) {
    const row = [];
    for (let j = 0; j < 3; j++) row.push(x.mul(i + j));
    grid.push(row);
  }
  sink += grid[1][2].sum().item();
});
flat("errors half way", (i) => {
  try {
    const a = x.add(1);
    if (i % 2) a.matmul(y.add(2));
    sink += a.sum().item();
  } catch (e) {
    sink += e.message.length;
  }
});
const pairs = new data.TensorDataset(x, y);
class Rows extends data.Dataset {
  get length() {
    return 4;
  }
  get(i) {
    return { x: x.select(0, i), n: i };
  }
}
const rows = new Rows();
flat("batches of a loader", () => {
  for (const [a, b] of new data.DataLoader(pairs, { batchSize: 2, shuffle: true })) sink += a.mul(b).sum().item();
});
flat("batches of collated items", () => {
  for (const batch of new data.DataLoader(rows, { batchSize: 2 })) sink += batch.x.sum().item() + batch.n.sum().item();
});
flat("rows of a tensor", () => {
  for (const row of x) sink += row.sum().item();
});
flat("a model's state", () => {
  model.loadStateDict(model.stateDict());
});
flat("what callbacks of array methods give", () => {
  const rows = [1, 2].map((i) => x.mul(i)).map((t) => t.add(1));
  const [a] = [0, 1].flatMap((i) => [y.mul(i), y.add(i)]);
  const total = [1, 2, 3].reduce((sum, i) => sum.add(x.mul(i)), zeros([4, 6]));
  sink += rows[0].sum().item() + a.sum().item() + total.sum().item() + rows.reduce((p, q) => p.add(q)).mean().item();
});
flat("Array.from", () => {
  const made = Array.from({ length: 3 }, (_, i) => x.mul(i));
  const copy = Array.from(made), more = Array.from(copy, (t) => t.neg());
  sink += made[0].sum().item() + more[2].sum().item();
});
flat("values and entries of objects", () => {
  const parts = { a: x.add(1), b: y.add(1) };
  for (const [key, t] of Object.entries(parts)) sink += key.length + t.sum().item();
  const again = Object.fromEntries(Object.keys(parts).map((k) => [k, parts[k].mul(2)]));
  sink += Object.values(again).map((t) => t.sum().item()).length;
});
flat("sort, splice, a shorter length", () => {
  const list = [{ t: x.add(1), at: 2 }, { t: x.add(2), at: 1 }, { t: x.add(3), at: 3 }];
  list.sort((p, q) => p.at - q.at);
  const [gone] = list.splice(0, 1, { t: y.add(1), at: 0 });
  sink += gone.t.sum().item();
  list.length = 1;
});
class Replay {
  items = [];
  lists = [[], []];
  constructor(most) {
    this.most = most;
    this.ring = [];
  }
  push(state, reward) {
    this.items.push({ state, reward });
    if (this.items.length > this.most) this.items.shift();
    this.lists[0].push(state);
    if (this.lists[0].length > this.most) this.lists[0].shift();
    this.ring[reward % this.most] = state;
  }
}
const replay = new Replay(3);
let moves = 0;
flat("lists in fields", (i) => replay.push(x.add(i), moves++));
flat("what a callee puts into its argument", () => {
  const fill = (out, t) => {
    out.sum = t.sum();
    out.rows = [t.select(0, 0)];
  };
  const out = {};
  fill(out, x);
  sink += out.sum.item() + out.rows[0].sum().item();
});
flat("conversions", () => {
  sink += +x.sum() + 2 * y.mean() + `${x.sum()} ${x}`.length;
  if (x.square().sum() > 1e9) sink++;
  const loss = x.mean();
  sink += `${loss}`.length;
});
class Scaled {
  constructor(t) {
    this.t = t;
  }
  get norm() {
    return this.t.square().sum().sqrt();
  }
  get both() {
    return [this.t, this.t.neg()];
  }
}
class Doubled extends Scaled {
  constructor(t) {
    super(t.mul(2));
  }
}
flat("getters, and what super gets", () => {
  const d = new Doubled(x), n = d.norm;
  sink += n.item() + d.norm.item() + d.both[1].sum().item();
});
const padded = ({ w = x.add(1), b } = {}) => (b ? w.add(b) : w).sum();
const chained = (w = x.add(1), b = w.mul(2)) => w.add(b).sum();
flat("defaults of parameters", () => {
  sink += padded().item() + padded({ b: y }).item() + chained().item() + chained(y).item();
});
function* halves(t) {
  yield t.mul(0.5);
  yield t.mul(0.25);
}
flat("generators that are taken apart", () => {
  const [a, b] = halves(x), list = Array.from(halves(y));
  sink += a.add(b).add(list[1]).sum().item();
});
flat("lists of operands", () => {
  const list = Array.of(x.neg(), y.neg()), more = [x.add(2), y.add(2)];
  list.push(x.add(3), ...more);
  sink += list.pop().sum().item();
});
const blend = (a, b) => a.mul(0.5).add(b);
flat("call and apply", () => {
  sink += blend.call(null, x.add(1), y.add(1)).sum().item() + blend.apply(null, [x.neg(), y.neg()]).mean().item();
});
const moments = new Map(), recent = new Set();
flat("state in maps and sets", (i) => {
  moments.set("w", (moments.get("w") ?? x).mul(0.9).add(y));
  moments.set(i % 3, x.mul(i));
  recent.add(x.add(i));
  for (const t of recent) if (recent.size > 2) recent.delete(t);
  const named = new Map([["a", x.add(1)], ["b", y.add(1)]]);
  for (const [key, t] of named) sink += key.length + t.sum().item();
  named.forEach((t) => sink += t.mean().item());
  sink += [...named.values()][1].sum().item();
  named.delete("a");
});
flat("a cache that forgets its oldest", (i) => {
  const cache = new Map();
  for (let k = 0; k < 4; k++) {
    cache.set(`k${k}`, x.add(k));
    if (cache.size > 2) cache.delete(cache.keys().next().value);
  }
  const [oldest] = cache.keys();
  sink += cache.get(oldest).sum().item() + [...cache.keys()].length;
});
class Bag { kept = new Map(); list = []; }
flat("a class of fields alone", (i) => {
  const bag = new Bag();
  bag.kept.set("a", x.add(i));
  bag.list.push(y.add(i));
  sink += bag.kept.get("a").sum().item() + bag.list[0].sum().item();
});
flat("layers", () => {
  const l = new nn.Linear(6, 2), p = new nn.Parameter(x.detach());
  sink += l.forward(x).sum().item() + p.sum().item();
  sink += new nn.LSTM(6, 4).forward(x)[0].sum().item() + new nn.LayerNorm(6).forward(x).sum().item();
});
const encoder = new nn.TransformerEncoderLayer(6, 2, { dimFeedforward: 8 });
flat("an encoder layer", () => sink += encoder.forward(x.unsqueeze(0)).sum().item());
const held = keep(tidy(() => x.add(1)));
console.log(Number.isFinite(sink), w.shape, queue.length, held.shape);
