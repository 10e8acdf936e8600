// nn.init: first values of parameters, written in place, with PyTorch's formulas.

import { describe, integer, options, tensorArg } from "ext:mlrun_tensor/00_handle.js";
import { eye, rand, randn } from "ext:mlrun_tensor/00_make.js";
import { noGrad } from "ext:mlrun_tensor/01_autograd.js";

const show = (shape) => `[${shape.join(", ")}]`;

function number(op, name, v) {
  if (typeof v !== "number" || Number.isNaN(v)) throw new TypeError(`${op}: ${name} must be a number, got ${describe(v)}`);
  return v;
}

/** Overwrites `t` with what `make` gives for its shape and dtype; gives `t`. */
function fill(op, t, make) {
  tensorArg(op, "tensor", t);
  noGrad(() => t.copy_(make(t.shape, { dtype: t.dtype })));
  return t;
}

/** Uniform between a and b. */
export const uniform_ = (t, a = 0, b = 1) => {
  const low = number("init.uniform_", "a", a), width = number("init.uniform_", "b", b) - low;
  return fill("init.uniform_", t, (shape, o) => rand(shape, o).mul(width).add(low));
};
export const normal_ = (t, mean = 0, std = 1) => {
  number("init.normal_", "mean", mean);
  number("init.normal_", "std", std);
  return fill("init.normal_", t, (shape, o) => randn(shape, o).mul(std).add(mean));
};
export const constant_ = (t, value) => {
  number("init.constant_", "value", value);
  noGrad(() => tensorArg("init.constant_", "tensor", t).fill_(value));
  return t;
};
export const zeros_ = (t) => constant_(t, 0);
export const ones_ = (t) => constant_(t, 1);
/** The identity, for a tensor of two dimensions. */
export const eye_ = (t) => {
  if (tensorArg("init.eye_", "tensor", t).ndim !== 2) throw new RangeError(`init.eye_: got shape ${show(t.shape)}, expected two dimensions`);
  return fill("init.eye_", t, ([n, m], o) => eye(n, m, o));
};

/** Inverse of the normal distribution's cumulative function at `p` in (0, 1), by tensors. */
function fromUniform(u, low, high) {
  // Newton steps on erf, from Winitzki's approximation (2008), which is within 0.01.
  const y = u.mul(high - low).add(low).mul(2).sub(1).clamp(-1 + 1e-7, 1 - 1e-7);
  const ln = y.square().neg().log1p(), a = 0.147, b = ln.div(2).add(2 / (Math.PI * a));
  let x = b.square().sub(ln.div(a)).sqrt().sub(b).sqrt().mul(y.sign());
  for (let i = 0; i < 3; i++) x = x.sub(x.erf().sub(y).mul(x.square().exp()).mul(Math.sqrt(Math.PI) / 2));
  return x.mul(Math.SQRT2);
}

/** Cumulative function of the normal distribution (Abramowitz and Stegun 7.1.26, error 1.5e-7). */
function normalBelow(x) {
  const z = Math.abs(x) / Math.SQRT2, t = 1 / (1 + 0.3275911 * z);
  const poly = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))));
  const erf = 1 - poly * Math.exp(-z * z);
  return x < 0 ? (1 - erf) / 2 : (1 + erf) / 2;
}

/** Normal, cut off below a and above b. */
export const truncNormal_ = (t, mean = 0, std = 1, a = -2, b = 2) => {
  for (const [name, v] of Object.entries({ mean, std, a, b })) number("init.truncNormal_", name, v);
  const low = normalBelow((a - mean) / std), high = normalBelow((b - mean) / std);
  return fill("init.truncNormal_", t, (shape, { dtype }) =>
    fromUniform(rand(shape, { dtype: "float64" }), low, high).mul(std).add(mean).clamp(a, b).to(dtype));
};

/** Inputs and outputs of one unit: weights are `[out, in, ...kernel]`. */
function fans(op, t) {
  const { shape } = tensorArg(op, "tensor", t);
  if (shape.length < 2) throw new RangeError(`${op}: got shape ${show(shape)}, expected at least two dimensions`);
  const field = shape.slice(2).reduce((n, d) => n * d, 1);
  return { fanIn: shape[1] * field, fanOut: shape[0] * field };
}

const GAINS = {
  linear: () => 1, conv1d: () => 1, conv2d: () => 1, sigmoid: () => 1, tanh: () => 5 / 3, relu: () => Math.SQRT2,
  leakyRelu: (slope = 0.01) => Math.sqrt(2 / (1 + slope * slope)), selu: () => 3 / 4,
};

/** The factor by which a nonlinearity wants its weights larger. */
export function calculateGain(nonlinearity, param) {
  if (!Object.hasOwn(GAINS, nonlinearity)) {
    throw new TypeError(`init.calculateGain: unknown nonlinearity "${nonlinearity}", expected ${Object.keys(GAINS).join(", ")}`);
  }
  return GAINS[nonlinearity](param);
}

export function xavierUniform_(t, given) {
  const { gain = 1 } = options("init.xavierUniform_", given, ["gain"]);
  const { fanIn, fanOut } = fans("init.xavierUniform_", t);
  const bound = gain * Math.sqrt(6 / (fanIn + fanOut));
  return uniform_(t, -bound, bound);
}
export function xavierNormal_(t, given) {
  const { gain = 1 } = options("init.xavierNormal_", given, ["gain"]);
  const { fanIn, fanOut } = fans("init.xavierNormal_", t);
  return normal_(t, 0, gain * Math.sqrt(2 / (fanIn + fanOut)));
}

function kaimingStd(op, t, given) {
  const { a = 0, mode = "fanIn", nonlinearity = "leakyRelu" } = options(op, given, ["a", "mode", "nonlinearity"]);
  if (mode !== "fanIn" && mode !== "fanOut") throw new TypeError(`${op}: unknown mode "${mode}", expected fanIn or fanOut`);
  return calculateGain(nonlinearity, a) / Math.sqrt(fans(op, t)[mode]);
}
export function kaimingUniform_(t, given) {
  const bound = Math.sqrt(3) * kaimingStd("init.kaimingUniform_", t, given);
  return uniform_(t, -bound, bound);
}
export function kaimingNormal_(t, given) {
  return normal_(t, 0, kaimingStd("init.kaimingNormal_", t, given));
}

/** Rows (or columns, whichever are fewer) of length `gain`, each at right angles to the others. */
export function orthogonal_(t, given) {
  const { gain = 1 } = options("init.orthogonal_", given, ["gain"]);
  const { shape } = tensorArg("init.orthogonal_", "tensor", t);
  if (shape.length < 2) throw new RangeError(`init.orthogonal_: got shape ${show(shape)}, expected at least two dimensions`);
  const columns = shape.slice(1).reduce((n, d) => n * d, 1);
  const few = Math.min(shape[0], columns), many = Math.max(shape[0], columns);
  return fill("init.orthogonal_", t, (_, { dtype }) => {
    const q = orthonormalRows(few, many);
    const flat = shape[0] <= columns ? q : q.T;
    return flat.mul(gain).reshape(shape).to(dtype);
  });
}

/** `few` random unit vectors of length `many` at right angles: Gram-Schmidt, twice for accuracy. */
function orthonormalRows(few, many) {
  const out = randn([few, many], { dtype: "float64" });
  for (let i = 0; i < integer("init.orthogonal_", "rows", few); i++) {
    let v = out.select(0, i).clone();
    for (let pass = 0; pass < 2 && i > 0; pass++) {
      const before = out.narrow(0, 0, i);
      v = v.sub(before.T.matmul(before.matmul(v)));
    }
    out.select(0, i).copy_(v.div(v.square().sum().sqrt()));
  }
  return out;
}
