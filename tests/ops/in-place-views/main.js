// Random programs of views and in-place ops beside PyTorch (oracle.py makes oracle.json), and
// beside their twins without in-place ops: values, gradients, what is recorded, what is refused.
import { autograd, noGrad, tensor, zeros } from "mlrun";
import oracle from "./oracle.json" with { type: "json" };

const f64 = { dtype: "float64" };
const X = [[1, -2, 3, 1], [2, 1, -1, 2], [-1, 3, 1, -3]], W = [2, -1, 1, 3];
const leaf = (data) => tensor(data, { ...f64, requiresGrad: true });
const flat = (t) => t.detach().reshape([t.size]).toArray();

const VIEWS = {
  narrow: (t, d, start, n) => t.narrow(d, start, n),
  select: (t, d, i) => t.select(d, i),
  slice: (t, step) => t.index(`::${step}`),
  transpose: (t) => t.transpose(0, -1),
  unsqueeze: (t, d) => t.unsqueeze(d),
  view: (t, ...shape) => t.view(shape),
  diagonal: (t) => t.diagonal(),
  expand: (t) => t.unsqueeze(0).expand([2, ...t.shape]),
};

function run(ts, [kind, ...rest]) {
  if (kind.startsWith("noGrad ")) {
    noGrad(() => run(ts, [kind.slice(7), ...rest]));
  } else if (kind === "view") {
    const [a, name, ...args] = rest;
    ts.push(VIEWS[name](ts[a], ...args));
  } else if (kind === "split") {
    ts.push(ts[rest[0]].split(1, rest[1])[rest[2]]);
  } else {
    const [name, a, operand] = rest, value = Array.isArray(operand) ? ts[operand[0]] : operand;
    const out = ts[a][name](value);
    if (kind === "op") ts.push(out);
  }
}

function start() {
  const x = leaf(X), w = leaf(W);
  return [x, w, x.mul(1), zeros([3, 4], f64)];
}

/** Sum of all tensors, each times its number. */
const total = (ts) => ts.map((t, k) => t.sum().mul(k + 1)).reduce((a, b) => a.add(b));

function outcome(steps) {
  const ts = start();
  for (let i = 0; i < steps.length; i++) {
    try {
      run(ts, steps[i]);
    } catch (e) {
      if (!/in place|its elements|share one place/.test(e.message)) throw e;
      return { refused: i };
    }
  }
  try {
    const grads = autograd.grad(total(ts), ts.slice(0, 2), { allowUnused: true });
    return {
      values: ts.slice(2).map(flat),
      recorded: ts.map((t) => t.requiresGrad),
      grads: grads.map((g, i) => flat(g ?? zeros(ts[i].shape))),
    };
  } catch (e) {
    if (!/in place/.test(e.message)) throw e;
    return { refused: "gradient" };
  }
}

// A twin's tensor is a base, whose elements one tensor holds, and the positions of its own among them.
const positions = (shape) => tensor(Array.from({ length: shape.reduce((a, b) => a * b, 1) }, (_, i) => i), { dtype: "int64" }).reshape(shape);
const made = (t) => ({ base: { elements: t.reshape([t.size]) }, at: positions(t.shape) });
const read = ({ base, at }) => base.elements.gather(0, at.reshape([at.size])).reshape(at.shape);

function twinStep(ts, [kind, ...rest]) {
  if (kind === "view") {
    const [a, name, ...args] = rest;
    ts.push({ base: ts[a].base, at: VIEWS[name](ts[a].at, ...args) });
    return;
  }
  const [name, a, operand] = rest, old = read(ts[a]), value = Array.isArray(operand) ? read(ts[operand[0]]) : operand;
  if (kind === "op") {
    ts.push(made(old[name](value)));
    return;
  }
  const op = name.slice(0, -1), fresh = old.mul(0);
  const now = op === "copy" || op === "fill" ? fresh.add(value) : old[op](value);
  const { base, at } = ts[a], flatAt = at.reshape([at.size]);
  const own = zeros([base.elements.size], f64).scatterAdd(0, flatAt, zeros([at.size], f64).add(1));
  const placed = zeros([base.elements.size], f64).scatterAdd(0, flatAt, now.reshape([at.size]));
  base.elements = base.elements.mul(own.mul(-1).add(1)).add(placed);
}

function twin(steps) {
  const x = leaf(X), w = leaf(W);
  const ts = [x, w, x.mul(1), zeros([3, 4], f64)].map(made);
  for (const step of steps) twinStep(ts, step);
  const sum = total(ts.map(read));
  return { values: ts.slice(2).map((t) => flat(read(t))), grads: autograd.grad(sum, [x, w], { allowUnused: true }).map((g, i) => flat(g ?? zeros([[12], [4]][i]))) };
}

const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);
const found = { equal: 0, refused: 0, "refused by the gradient": 0, "refused by PyTorch's gradient alone": 0, twins: 0, different: 0 };

/** What the outcome of a program is beside the expected one: a key of `found`. */
function verdict(steps, got, expected) {
  const strict = steps.some(([kind]) => kind.startsWith("noGrad") || kind === "split");
  if (got.refused === undefined && !strict) {
    const { values, grads } = twin(steps);
    if (!same([values, grads], [got.values, got.grads])) return "different";
    found.twins++;
    // It walks on to what was overwritten as a whole, and finds it changed.
    if (expected.refused === "gradient") return "refused by PyTorch's gradient alone";
  }
  // PyTorch says of views that were taken without gradients what it says of their base.
  const unsure = new Set();
  let n = 4;
  for (const [kind] of steps) if (/view|split|^op/.test(kind)) { if (strict) unsure.add(n); n++; }
  const plain = ({ recorded, ...rest }) => ({ ...rest, recorded: recorded?.map((r, i) => (unsure.has(i) ? null : r)) });
  const { values, recorded, grads, refused } = expected;
  if (!same(plain(got), plain({ values, recorded, grads, refused }))) return "different";
  return refused === undefined ? "equal" : refused === "gradient" ? "refused by the gradient" : "refused";
}

for (const { steps, ...expected } of oracle) {
  const got = outcome(steps), key = verdict(steps, got, expected);
  found[key]++;
  if (key === "different" && found.different <= 3) console.log(JSON.stringify({ steps, got, expected }));
}
console.log(found);
