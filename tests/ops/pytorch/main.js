// Each op x dtype x layout against what PyTorch gave (make.py): contiguous, transposed, strided,
// offset, stride 0, size 0, lengths 1 to 17. What PyTorch refuses is refused, but for what is
// named below.
import { concat, ones, tensor, where, zeros } from "mlrun";
import { calls } from "./calls.js";
import data from "./values.json" with { type: "json" };

const TOLERANCE = { float32: 2e-5, float64: 1e-9, float16: 2e-3, bfloat16: 1.6e-2 };
const SPECIAL = { nan: NaN, inf: Infinity, "-inf": -Infinity };

/** Calls that work here and are refused there. */
const more = {
  // Integers are computed in float32, as by exp and its like.
  integers: ["elu", "gelu", "gelu tanh", "leakyRelu", "silu", "softplus", "softmax", "logSoftmax"],
  // Booleans have an order, and sums and products of them a meaning.
  booleans: ["argmax", "argmin 0", "topk", "matmul", "einsum", "sub 1"],
};
/** Calls whose result is another one here, with what it is. */
const other = {
  "any uint8": "bool as for every dtype", "all 0 uint8": "bool as for every dtype",
};
const allowed = (op, dtype, want) =>
  `${op} ${dtype}` in other || (more.integers.includes(op) && !dtype.includes("float")) ||
  (want === null && dtype === "bool" && more.booleans.includes(op));

function base(values, dtype) {
  if (dtype === "bool") return tensor(values.map((v) => v > 0.4));
  if (dtype.includes("float")) return tensor(values, { dtype });
  return tensor(values.map((v) => (dtype === "uint8" ? Math.abs(Math.trunc(v)) : Math.trunc(v))), { dtype });
}

function differs(t, [dtype, shape, values]) {
  if (t.dtype !== dtype) return `dtype ${t.dtype}, expected ${dtype}`;
  if (`${t.shape}` !== `${shape}`) return `shape [${t.shape}], expected [${shape}]`;
  const got = t.toTypedArray();
  for (let i = 0; i < values.length; i++) {
    const want = SPECIAL[values[i]] ?? values[i], have = Number(got[i]);
    const slack = (TOLERANCE[dtype] ?? 0) * Math.max(1, Math.abs(want));
    if (!(Object.is(have, want) || have === want || Math.abs(have - want) <= slack)) return `element ${i} is ${have}, expected ${want}`;
  }
  return null;
}

/** The same elements in other layouts. */
const layouts = {
  contiguous: (t) => t,
  transposed: (t) => t.T.contiguous().T,
  strided: (t) => concat([t.unsqueeze(-1), t.unsqueeze(-1)], -1).select(-1, 0),
  offset: (t) => concat([t.narrow(0, 0, 1), t]).narrow(0, 1, t.shape[0]),
};
/** Rows or elements all alike, without and with memory of their own. */
const alike = (t) => t.narrow(0, 0, 1).expand(t.shape);

const failures = [];
let count = 0;
function check(what, op, want, inputs) {
  if (allowed(op, inputs[0].dtype, want)) return;
  count++;
  let problem;
  try {
    const got = calls[op](...inputs);
    problem = want === null ? `gave ${got.dtype} [${got.shape}], expected an error` : differs(got, want);
  } catch (e) {
    problem = want === null && e.message.length > 10 ? null : `${e.name}: ${e.message}`;
  }
  if (problem) failures.push(`${what}: ${problem}`);
}

function sameAsCopy(what, op, inputs) {
  count++;
  const run = (list) => {
    try {
      const t = calls[op](...list);
      return [t.dtype, [...t.shape], Array.from(t.toTypedArray(), Number)];
    } catch (e) {
      return e.message;
    }
  };
  const wide = inputs.map(alike), a = run(wide), b = run(wide.map((t) => t.clone()));
  if (JSON.stringify(a) !== JSON.stringify(b)) failures.push(`${what}: ${JSON.stringify(a)}, expected ${JSON.stringify(b)}`);
}

for (const [dtype, ops] of Object.entries(data.cases)) {
  const x = base(data.MATRIX, dtype).reshape([3, 4]), y = base(data.OTHER, dtype).reshape([3, 4]);
  const v = base(data.VECTOR, dtype);
  for (const [op, forms] of Object.entries(ops)) {
    const name = (form, layout) => `${op} ${dtype} ${form} ${layout}`;
    for (const [layout, of] of Object.entries(layouts)) {
      if (forms.matrix !== undefined) check(name("matrix", layout), op, forms.matrix, [of(x)]);
      if (forms.pair !== undefined) check(name("pair", layout), op, forms.pair, [of(x), layouts.transposed(y)]);
      if (forms.vector !== undefined && layout !== "transposed") check(name("vector", layout), op, forms.vector, [of(v)]);
    }
    if (forms.empty !== undefined) check(name("size", "0"), op, forms.empty, [zeros([0, 4], { dtype })]);
    (forms.lengths ?? []).forEach((want, i) => check(name("length", i + 1), op, want, [layouts.strided(v.narrow(0, 0, i + 1))]));
    sameAsCopy(name("rows", "stride 0"), op, forms.pair ? [x, y] : forms.matrix ? [x] : [v]);
    for (let n = 1; forms.vector && n <= 17; n++) {
      const [d, , values] = forms.vector;
      check(name("length", n), op, [d, [n], values.slice(0, n)], [layouts.offset(v.narrow(0, 0, n))]);
    }
  }
}
for (const [pair, want] of Object.entries(data.promotion)) {
  const [p, q] = pair.split(" "), a = ones([2], { dtype: p }), b = ones([2], { dtype: q });
  const got = [a.mul(b), a.mul(b.select(0, 0)), a.select(0, 0).mul(b), a.select(0, 0).mul(b.select(0, 0)), where(a.gt(0), a, b)].map((t) => t.dtype);
  count++;
  if (`${got}` !== `${want}`) failures.push(`promotion of ${pair}: ${got}, expected ${want}`);
}
for (const f of failures) console.log(f);
console.log(`${count - failures.length} of ${count} as PyTorch`);
