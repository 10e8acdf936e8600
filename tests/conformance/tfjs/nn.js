// Convolutions, pooling, normalisation, losses and fused ops of tfjs-core in terms of mlrun's.
import { F, full } from "mlrun";
import { Unsupported, missing } from "./jasmine.js";
import { T, Tensor, float, wrap } from "./tensors.js";
import { add, elu, leakyRelu, matMul, prelu, relu, relu6, sigmoid } from "./tf.js";

// ---- Networks
const lastAxis = (x, dim) => {
  const at = dim === -1 ? x.rank - 1 : dim;
  if (at !== x.rank - 1) throw new Unsupported("softmax over another axis than the last is an error of tfjs");
  return at;
};
export const softmax = (x, dim = -1) => {
  x = T(x);
  if (dim !== -1 && dim !== x.rank - 1) throw new RangeError("softmax: only the last axis");
  return wrap(F.softmax(float(x.t), lastAxis(x, dim)), "float32");
};
export const logSoftmax = (x, dim = -1) => {
  x = T(x);
  if (dim !== -1 && dim !== x.rank - 1) throw new RangeError("logSoftmax: only the last axis");
  return wrap(F.logSoftmax(float(x.t), lastAxis(x, dim)), "float32");
};
export const batchNorm = (x, mean, variance, offset, scale, eps = 0.001) => {
  x = T(x);
  const [m, v] = [T(mean), T(variance)];
  if (m.rank !== v.rank) throw new RangeError("ranks differ");
  const unit = x.t.sub(m.t).mul(v.t.add(eps).rsqrt());
  const scaled = scale ? unit.mul(T(scale).t) : unit;
  return wrap(offset ? scaled.add(T(offset).t) : scaled);
};
const normOf = (rank) => (x, ...rest) => {
  if (T(x).rank !== rank) throw new RangeError("rank");
  return batchNorm(x, ...rest);
};
export const [batchNorm2d, batchNorm3d, batchNorm4d] = [2, 3, 4].map(normOf);

/** [begin, end] of one dimension's padding. */
function pads(pad, i, input, kernel, stride, dilation) {
  if (pad === "valid") return [0, 0];
  if (pad === "same") {
    const out = Math.ceil(input / stride), total = Math.max(0, (out - 1) * stride + dilation * (kernel - 1) + 1 - input);
    return [Math.floor(total / 2), total - Math.floor(total / 2)];
  }
  if (typeof pad === "number") return [pad, pad];
  if (Array.isArray(pad)) return pad[i + 1];
  throw new RangeError(`unknown pad ${pad}`);
}
const pair = (v) => (typeof v === "number" ? [v, v] : v);
const whole = (pad, mode, sizes) => {
  if (mode != null && (pad === "same" || pad === "valid" || [pad].flat(3).some((p) => p % 1 !== 0))) throw new RangeError("dimRoundingMode with such a pad");
  for (const { n, k, s, d, p } of sizes) {
    if (mode == null && typeof pad === "number" && ((n - (d * (k - 1) + 1) + p[0] + p[1]) / s) % 1 !== 0) throw new Unsupported("a size that is rounded");
    if (mode === "ceil" || mode === "round") throw new Unsupported(`dimRoundingMode ${mode}`);
  }
};

/** Images in NHWC as NCHW, a batch of one where there is none. */
function images(x) {
  x = T(x);
  if (x.rank !== 3 && x.rank !== 4) throw new RangeError("expected rank 3 or 4");
  const t = (x.rank === 3 ? x.t.unsqueeze(0) : x.t).permute([0, 3, 1, 2]);
  const back = (y, dtype = "float32") => wrap(x.rank === 3 ? y.permute([0, 2, 3, 1]).squeeze(0) : y.permute([0, 2, 3, 1]), dtype);
  return { t, back, x };
}

/** NCHW as NHWC. */
function lastChannel(x) {
  x = T(x);
  if (x.rank !== 3 && x.rank !== 4) throw new RangeError("expected rank 3 or 4");
  return wrap(x.rank === 4 ? x.t.permute([0, 2, 3, 1]) : x.t.permute([1, 2, 0]), x.dtype);
}
const channelLastPad = (pad) => (Array.isArray(pad) ? [pad[0], pad[2], pad[3], pad[1]] : pad);

function convolve(x, filter, strides, pad, format, dilations, mode, groups) {
  if (format === "NCHW") {
    const y = convolve(lastChannel(x), filter, strides, channelLastPad(pad), "NHWC", dilations, mode, groups);
    return wrap(y.rank === 4 ? y.t.permute([0, 3, 1, 2]) : y.t.permute([2, 0, 1]));
  }
  const { t, back } = images(x), w = T(filter);
  if (w.rank !== 4) throw new RangeError("filter of another rank");
  const s = pair(strides), d = pair(dilations ?? 1);
  if (s.some((v) => v > 1) && d.some((v) => v > 1)) throw new RangeError("strides and dilations");
  if ([...s, ...d].some((v) => v <= 0)) throw new RangeError("strides and dilations must be positive");
  const sizes = [0, 1].map((i) => ({ n: t.shape[i + 2], k: w.shape[i], s: s[i], d: d[i] }));
  for (const [i, z] of sizes.entries()) z.p = pads(pad, i, z.n, z.k, z.s, z.d);
  whole(pad, mode, sizes);
  const depthwise = groups === true, [, , inputs, outputs] = w.shape;
  if (t.shape[1] !== inputs) throw new RangeError("depths differ");
  const kernel = depthwise ? w.t.permute([2, 3, 0, 1]).reshape([inputs * outputs, 1, w.shape[0], w.shape[1]]) : w.t.permute([3, 2, 0, 1]);
  const padded = F.pad(float(t), [...sizes[1].p, ...sizes[0].p]);
  return back(F.conv2d(padded, float(kernel), null, { stride: s, dilation: d, groups: depthwise ? inputs : 1 }));
}
export const conv2d = (x, filter, strides, pad, format = "NHWC", dilations = [1, 1], mode) => convolve(x, filter, strides, pad, format, dilations, mode, false);
export const depthwiseConv2d = (x, filter, strides, pad, format = "NHWC", dilations = [1, 1], mode) => convolve(x, filter, strides, pad, format, dilations, mode, true);
export const conv1d = (x, filter, stride, pad, format = "NWC", dilation = 1, mode) => {
  x = T(x);
  const w = T(filter);
  if (format !== "NWC") throw new Unsupported(`format ${format}`);
  if (![2, 3].includes(x.rank) || w.rank !== 3) throw new RangeError("rank");
  const image = wrap((x.rank === 2 ? x.t.unsqueeze(0) : x.t).unsqueeze(1));
  const y = conv2d(image, wrap(w.t.unsqueeze(0)), [1, stride], pad, "NHWC", [1, dilation], mode).t.squeeze(1);
  return wrap(x.rank === 2 ? y.squeeze(0) : y);
};
export const separableConv2d = (x, depthwise, pointwise, strides, pad, dilation = [1, 1], format = "NHWC") => {
  const p = T(pointwise), d = T(depthwise);
  if (p.rank !== 4 || d.rank !== 4 || p.shape[0] !== 1 || p.shape[1] !== 1 || p.shape[2] !== d.shape[2] * d.shape[3]) throw new RangeError("filters");
  return conv2d(depthwiseConv2d(x, depthwise, strides, pad, format, dilation), pointwise, 1, "valid", format);
};
export const conv2dTranspose = (x, filter, outputShape, strides, pad, mode) => {
  const { t, back, x: given } = images(x), w = T(filter), s = pair(strides);
  if (w.rank !== 4 || outputShape.length !== given.rank) throw new RangeError("rank");
  whole(pad, mode, []);
  const [h, wide] = outputShape.slice(-3, -1), [kh, kw, outputs, inputs] = w.shape;
  if (t.shape[1] !== inputs || outputShape.at(-1) !== outputs) throw new RangeError("depths differ");
  const p = [pads(pad, 0, h, kh, s[0], 1), pads(pad, 1, wide, kw, s[1], 1)];
  const y = F.convTranspose2d(float(t), float(w.t.permute([3, 2, 0, 1])), null, { stride: s });
  const wanted = [h, wide], cut = (v, i) => {
    const dim = i + 2, need = p[i][0] + wanted[i];
    const full = v.shape[dim] < need ? F.pad(v, i === 0 ? [0, 0, 0, need - v.shape[dim]] : [0, need - v.shape[dim]]) : v;
    return full.narrow(dim, p[i][0], wanted[i]);
  };
  return back(cut(cut(y, 0), 1));
};

function pooling(kind, x, filter, strides, pad, mode, dilations = [1, 1]) {
  const { t, back, x: given } = images(x), k = pair(filter), s = pair(strides), d = pair(dilations);
  if (s.some((v) => v > 1) && d.some((v) => v > 1)) throw new RangeError("strides and dilations");
  const sizes = [0, 1].map((i) => ({ n: t.shape[i + 2], k: k[i], s: s[i], d: d[i] }));
  for (const [i, z] of sizes.entries()) z.p = pads(pad, i, z.n, z.k, z.s, z.d);
  whole(pad, mode, sizes);
  const flat = [...sizes[1].p, ...sizes[0].p], f = float(t);
  if (kind === "max") return back(F.maxPool2d(F.pad(f, flat, { value: -Infinity }), k, { stride: s, dilation: d }), given.dtype);
  if (d.some((v) => v > 1)) throw new Unsupported("average pooling with dilation");
  const run = (v) => F.avgPool2d(F.pad(v, flat), k, { stride: s });
  return back(flat.some((p) => p > 0) ? run(f).div(run(full(f.shape, 1))) : run(f));
}
export const maxPool = (x, filter, strides, pad, mode) => pooling("max", x, filter, strides, pad, mode);
export const avgPool = (x, filter, strides, pad, mode) => pooling("avg", x, filter, strides, pad, mode);
export const pool = (x, window, kind, pad, dilations = 1, strides = 1, mode) => pooling(kind, x, window, strides, pad, mode, dilations);
export const dropout = (x, rate, noiseShape) => {
  x = T(x);
  if (x.dtype !== "float32" || rate < 0 || rate >= 1) throw new RangeError("dropout");
  if (noiseShape) throw new Unsupported("dropout with a noise shape");
  return rate === 0 ? x : wrap(F.dropout(x.t, { p: rate }));
};
const resize = (mode) => (x, size, alignCorners = false, halfPixelCenters = false) => {
  const { t, back, x: given } = images(x);
  if (size.length !== 2) throw new RangeError("size");
  if (alignCorners && halfPixelCenters) throw new RangeError("alignCorners with halfPixelCenters");
  if (mode === "bilinear" ? !alignCorners && !halfPixelCenters : alignCorners || halfPixelCenters) throw new Unsupported(`resize ${mode} with these corners`);
  return back(F.interpolate(float(t), mode === "bilinear" ? { size, mode, alignCorners } : { size, mode }), mode === "bilinear" ? "float32" : given.dtype);
};
export const image = new Proxy({ resizeBilinear: resize("bilinear"), resizeNearestNeighbor: resize("nearest") }, {
  get: (o, k) => o[k] ?? missing(`image.${String(k)}`),
});

// ---- Losses: mlrun's without reduction, then tfjs's weights.
export const Reduction = { NONE: 0, MEAN: 1, SUM: 2, SUM_BY_NONZERO_WEIGHTS: 3 };
function weighted(loss, weights, reduction = 3) {
  if (![0, 1, 2, 3].includes(reduction)) throw new RangeError("reduction");
  const w = weights === undefined || weights === null ? null : T(weights).t.to("float32");
  const each = w === null ? loss : loss.mul(w), count = loss.size;
  if (reduction === 0) return wrap(each, "float32");
  if (reduction === 2) return wrap(each.sum(), "float32");
  if (w === null) return wrap(each.sum().div(count), "float32");
  const spread = full(loss.shape, 1).mul(w);
  return wrap(each.sum().div(reduction === 1 ? spread.sum() : spread.ne(0).to("float32").sum()), "float32");
}
const loss = (f) => (labels, predictions, ...rest) => {
  const [y, p] = [T(labels), T(predictions)];
  if (y.shape.join() !== p.shape.join()) throw new RangeError("shapes differ");
  return f(float(y.t), float(p.t), ...rest);
};
const none = { reduction: "none" };
export const losses = new Proxy({
  Reduction,
  computeWeightedLoss: (l, weights, reduction) => weighted(float(T(l).t), weights, reduction),
  absoluteDifference: loss((y, p, w, r) => weighted(F.l1Loss(p, y, none), w, r)),
  meanSquaredError: loss((y, p, w, r) => weighted(F.mseLoss(p, y, none), w, r)),
  huberLoss: loss((y, p, w, delta = 1, r) => weighted(F.smoothL1Loss(p, y, { ...none, beta: delta }).mul(delta), w, r)),
  hingeLoss: loss((y, p, w, r) => weighted(y.mul(2).sub(1).mul(p).neg().add(1).relu(), w, r)),
  logLoss: loss((y, p, w, eps = 1e-7, r) => weighted(y.mul(p.add(eps).log()).add(y.neg().add(1).mul(p.neg().add(1 + eps).log())).neg(), w, r)),
  cosineDistance: loss((y, p, axis, w, r) => weighted(y.mul(p).sum(axis, { keepdim: true }).neg().add(1), w, r)),
  sigmoidCrossEntropy: loss((y, p, w, smooth = 0, r) => weighted(F.bceWithLogits(p, y.mul(1 - smooth).add(smooth / 2), none), w, r)),
  softmaxCrossEntropy: loss((y, p, w, smooth = 0, r) => {
    const target = smooth > 0 ? y.mul(1 - smooth).add(smooth / y.shape[1]) : y;
    return weighted(F.logSoftmax(p, -1).mul(target).sum(-1).neg(), w, r);
  }),
}, { get: (o, k) => o[k] ?? missing(`losses.${String(k)}`) });

// ---- An op with bias and activation
function activate(y, { bias, activation = "linear", preluActivationWeights, leakyreluAlpha = 0.2 }) {
  const t = bias === undefined || bias === null ? y : add(y, bias);
  const by = {
    linear: (v) => v, relu, relu6, elu, sigmoid, prelu: (v) => prelu(v, preluActivationWeights), leakyrelu: (v) => leakyRelu(v, leakyreluAlpha),
  }[activation];
  if (!by) throw new TypeError(`unknown activation ${activation}`);
  return by(t);
}
function fusedConvolution(f, o) {
  if (o.dataFormat !== "NCHW") return activate(f(o.x, o.filter, o.strides, o.pad, o.dataFormat, o.dilations, o.dimRoundingMode), o);
  // Of bias and weights with one dimension, that is the channels.
  const last = (v) => (v instanceof Tensor && v.rank === 3 ? lastChannel(v) : v);
  const options = { ...o, bias: last(o.bias), preluActivationWeights: last(o.preluActivationWeights) };
  const y = activate(f(lastChannel(o.x), o.filter, o.strides, channelLastPad(o.pad), "NHWC", o.dilations, o.dimRoundingMode), options);
  return wrap(y.rank === 4 ? y.t.permute([0, 3, 1, 2]) : y.t.permute([2, 0, 1]));
}
export const fused = {
  matMul: (o) => activate(matMul(o.a, o.b, o.transposeA, o.transposeB), o),
  conv2d: (o) => fusedConvolution(conv2d, o),
  depthwiseConv2d: (o) => fusedConvolution(depthwiseConv2d, o),
};
