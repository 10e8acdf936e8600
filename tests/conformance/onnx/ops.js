// ONNX's ops in terms of mlrun's. Each adapter gets inputs (null where left out), attributes and
// `{ opset, outputs }`, and gives one result or an array. What a test asks beyond mlrun's ops is
// `Unsupported`; an op that mlrun lacks is found by run.js when it is called.
// Semantics: ONNX's operator schemas.
import * as mlrun from "mlrun";
import { F, arange, concat, full, stack, tensor, where, zeros } from "mlrun";

export class Unsupported extends Error {}

/** A method by name, said to be missing where it is. */
function method(t, name) {
  if (typeof t[name] !== "function") throw new Unsupported(`mlrun has no ${name}`);
  return t[name].bind(t);
}

const list = (t) => (t === null || t === undefined ? t : Array.from(t.reshape([-1]).toTypedArray(), Number));
const scalar = (t) => Number(list(t)[0]);
const wrap = (axis, t) => (axis < 0 ? axis + t.ndim : axis);
const isFloat = (t) => t.dtype.includes("float");
const like = (value, t) => tensor(value, { dtype: t.dtype });
const unary = (name) => ([x]) => method(x, name)();
const binary = (name) => ([a, b]) => method(a, name)(b);
const fold = (name) => (args) => args.reduce((a, b) => method(a, name)(b));
const swap = (t, a, b) => t.transpose(a, b);

const TYPES = [null, "float32", "uint8", "int8", "uint16", "int16", "int32", "int64", "string", "bool", "float16", "float64", "uint32", "uint64", null, null, "bfloat16"];
function typeOf(code) {
  const name = TYPES[code];
  if (!name || /^(uint16|uint32|uint64|string)$/.test(name)) throw new Unsupported(`dtype ${name ?? code}`);
  return name;
}

/** Axes of a reduction from the second input or the attribute; null: all. */
function axesOf([, input], { axes }) {
  return input ? list(input) : axes ?? null;
}

function reduction(run) {
  return (args, attrs) => {
    const [x] = args, keepdim = (attrs.keepdims ?? 1) !== 0;
    let axes = axesOf(args, attrs);
    if (axes === null || axes.length === 0) {
      if (attrs.noop_with_empty_axes) axes = [];
      else axes = x.shape.map((_, i) => i);
    }
    // Nothing is summed along no axis; elementwise parts still apply.
    if (axes.length === 0 && x.ndim > 0) return run(x.unsqueeze(0), [0], { keepdim: false }).to(x.dtype);
    return run(x, axes, { keepdim }).to(x.dtype);
  };
}

function arg(name) {
  return ([x], { axis = 0, keepdims = 1, select_last_index = 0 }) => {
    const keepdim = keepdims !== 0;
    if (!select_last_index) return x[name](axis, { keepdim });
    const n = x.shape[wrap(axis, x)];
    return x.flip([wrap(axis, x)])[name](axis, { keepdim }).neg().add(n - 1);
  };
}

/** Before opset 13 the input became a matrix at `axis` first. */
function softmaxLike(f, spread) {
  return ([x], { axis }, { opset }) => {
    if (opset >= 13) return f(x, axis ?? -1);
    const at = wrap(axis ?? 1, x);
    const rows = x.shape.slice(0, at).reduce((a, b) => a * b, 1);
    return f(x.reshape([rows, -1]), 1).reshape(x.shape);
  };
}

/** Padding per spatial dimension: [begin..., end...]. */
function padding(attrs, spatial, kernel, input, ceil = false) {
  const n = spatial.length, strides = attrs.strides ?? Array(n).fill(1), dilations = attrs.dilations ?? Array(n).fill(1);
  const auto = attrs.auto_pad ?? "NOTSET";
  if (auto === "NOTSET") return attrs.pads ?? Array(2 * n).fill(0);
  if (auto === "VALID") return Array(2 * n).fill(0);
  const begin = [], end = [];
  for (let i = 0; i < n; i++) {
    const out = Math.ceil(input[i] / strides[i]);
    const total = Math.max(0, (out - 1) * strides[i] + dilations[i] * (kernel[i] - 1) + 1 - input[i]);
    const less = Math.floor(total / 2);
    begin.push(auto === "SAME_UPPER" ? less : total - less);
    end.push(auto === "SAME_UPPER" ? total - less : less);
  }
  return [...begin, ...end];
}

const symmetric = (pads) => pads.slice(0, pads.length / 2).every((p, i) => p === pads[i + pads.length / 2]);

/** Constant padding of the last dimensions by ONNX's pads. */
function padLast(x, pads, value = 0) {
  const n = pads.length / 2, flat = [];
  for (let i = n - 1; i >= 0; i--) flat.push(pads[i], pads[i + n]);
  return F.pad(x, flat, { value });
}

function conv([x, w, b], attrs) {
  const n = x.ndim - 2;
  if (n < 1 || n > 2) throw new Unsupported(`convolution over ${n} dimensions`);
  let pads = padding(attrs, x.shape.slice(2), w.shape.slice(2), x.shape.slice(2));
  if (!symmetric(pads)) [x, pads] = [padLast(x, pads), pads.map(() => 0)];
  const options = { stride: attrs.strides ?? 1, padding: pads.slice(0, n), dilation: attrs.dilations ?? 1, groups: attrs.group ?? 1 };
  return n === 1 ? F.conv1d(x, w, b, first(options)) : F.conv2d(x, w, b, options);
}

/** Options of one-dimensional ops take numbers. */
function first(options) {
  return Object.fromEntries(Object.entries(options).map(([k, v]) => [k, Array.isArray(v) ? v[0] : v]));
}

function convTranspose([x, w, b], attrs) {
  if (x.ndim !== 4) throw new Unsupported(`transposed convolution over ${x.ndim - 2} dimensions`);
  const stride = attrs.strides ?? [1, 1], dilation = attrs.dilations ?? [1, 1];
  const extra = attrs.output_padding ?? [0, 0], kernel = w.shape.slice(2);
  const fullSize = kernel.map((k, i) => stride[i] * (x.shape[i + 2] - 1) + extra[i] + (k - 1) * dilation[i] + 1);
  let pads = attrs.pads ?? [0, 0, 0, 0];
  const same = attrs.auto_pad === "SAME_UPPER" || attrs.auto_pad === "SAME_LOWER";
  const wanted = attrs.output_shape ?? (same ? stride.map((s, i) => s * x.shape[i + 2]) : null);
  if (wanted) {
    const total = fullSize.map((f, i) => f - wanted[i]);
    const begin = total.map((t) => (attrs.auto_pad === "SAME_UPPER" ? Math.floor(t / 2) : t - Math.floor(t / 2)));
    pads = [...begin, ...total.map((t, i) => t - begin[i])];
  }
  let whole = F.convTranspose2d(x, w, b, { stride, padding: 0, outputPadding: extra, dilation, groups: attrs.group ?? 1 });
  // Taking away less than nothing adds zeros.
  if (pads.some((p) => p < 0)) [whole, pads] = [padLast(whole, pads.map((p) => Math.max(0, -p))), pads.map((p) => Math.max(0, p))];
  return whole.narrow(2, pads[0], whole.shape[2] - pads[0] - pads[2]).narrow(3, pads[1], whole.shape[3] - pads[1] - pads[3]);
}

function pool(kind) {
  return ([x], attrs, { outputs }) => {
    if (outputs[1]) throw new Unsupported("indices of a pooling");
    if (x.ndim > 4) throw new Unsupported(`pooling over ${x.ndim - 2} dimensions`);
    // One dimension is pooled as the last of two.
    if (x.ndim === 3) {
      const lift = (v, other) => v && [other, ...v];
      const pads = attrs.pads && [0, attrs.pads[0], 0, attrs.pads[1]];
      const lifted = { ...attrs, kernel_shape: [1, ...attrs.kernel_shape], strides: lift(attrs.strides, 1), dilations: lift(attrs.dilations, 1), pads };
      return pool(kind)([x.unsqueeze(2)], lifted, { outputs }).squeeze(2);
    }
    const kernel = attrs.kernel_shape, stride = attrs.strides ?? [1, 1];
    let pads = padding(attrs, kernel, kernel, x.shape.slice(2));
    const dilation = attrs.dilations ?? [1, 1];
    const fits = symmetric(pads) && pads.every((p, i) => p <= kernel[i % 2] / 2);
    if (kind === "avg") {
      if (dilation.some((d) => d !== 1)) throw new Unsupported("average pooling with dilation");
      const countIncludePad = (attrs.count_include_pad ?? 0) !== 0;
      const options = { stride, padding: pads.slice(0, 2), ceilMode: (attrs.ceil_mode ?? 0) !== 0, countIncludePad };
      if (fits) return F.avgPool2d(x, kernel, options);
      const sums = F.avgPool2d(padLast(x, pads), kernel, { ...options, padding: 0 });
      if (countIncludePad) return sums;
      const ones = padLast(full(x.shape, 1, { dtype: x.dtype }), pads);
      return sums.div(F.avgPool2d(ones, kernel, { ...options, padding: 0 }));
    }
    const options = { stride, dilation, padding: pads.slice(0, 2), ceilMode: (attrs.ceil_mode ?? 0) !== 0 };
    if (!isFloat(x)) return pool(kind)([x.to("float32")], attrs, { outputs }).to(x.dtype);
    return fits ? F.maxPool2d(x, kernel, options) : F.maxPool2d(padLast(x, pads, -Infinity), kernel, { ...options, padding: 0 });
  };
}

function globalPool(name) {
  return ([x]) => x[name](x.shape.map((_, i) => i).slice(2), { keepdim: true });
}

/** Axis `axis` and all after it normalised. */
function layerNorm([x, scale, bias], { axis = -1, epsilon = 1e-5 }, { outputs }) {
  const shape = x.shape.slice(wrap(axis, x));
  const y = F.layerNorm(x, shape, fit(scale, shape), bias && fit(bias, shape), epsilon);
  if (!outputs[1] && !outputs[2]) return y;
  const dims = shape.map((_, i) => x.ndim - shape.length + i);
  const mean = x.mean(dims, { keepdim: true });
  return [y, mean, x.variance(dims, { keepdim: true, correction: 0 }).add(epsilon).rsqrt()];
}

/** Scales may broadcast within the normalised shape. */
const fit = (t, shape) => (t.shape.join() === shape.join() ? t : t.expand(shape).contiguous());

function batchNorm([x, scale, bias, mean, variance], { epsilon = 1e-5, momentum = 0.9, training_mode = 0 }) {
  if (!training_mode) return F.batchNorm(x, mean, variance, scale, bias, { training: false, eps: epsilon });
  const along = x.shape.map((_, i) => i).filter((i) => i !== 1);
  const [m, v] = [x.mean(along), x.variance(along, { correction: 0 })];
  const y = F.batchNorm(x, m, v, scale, bias, { training: false, eps: epsilon });
  return [y, mean.mul(momentum).add(m.mul(1 - momentum)), variance.mul(momentum).add(v.mul(1 - momentum))];
}

function slice(args, attrs) {
  let [x, starts, ends, axes, steps] = args;
  starts = starts ? list(starts) : attrs.starts;
  ends = ends ? list(ends) : attrs.ends;
  axes = axes ? list(axes) : attrs.axes ?? starts.map((_, i) => i);
  steps = steps ? list(steps) : starts.map(() => 1);
  axes.forEach((axis, k) => {
    axis = wrap(axis, x);
    const n = x.shape[axis], step = steps[k];
    const inside = (v, low, high) => Math.max(low, Math.min(high, v < 0 ? v + n : v));
    let [from, to] = step > 0 ? [inside(starts[k], 0, n), inside(ends[k], 0, n)] : [inside(starts[k], 0, n - 1), inside(ends[k], -1, n - 1)];
    const count = Math.max(0, Math.ceil((to - from) / step));
    const picked = arange(count).mul(step).add(count ? from : 0);
    const specs = x.shape.map((_, i) => (i === axis ? picked : ":"));
    x = step > 0 && n > 0 ? x.index(...x.shape.map((_, i) => (i === axis ? `${from}:${Math.max(from, to)}:${step}` : ":"))) : x.index(...specs);
  });
  return x;
}

function pad(args, attrs) {
  const [x, padsInput, value, axesInput] = args;
  const given = padsInput ? list(padsInput) : attrs.pads, mode = attrs.mode ?? "constant";
  const axes = axesInput ? list(axesInput).map((a) => wrap(a, x)) : x.shape.map((_, i) => i);
  const pads = Array(2 * x.ndim).fill(0);
  axes.forEach((axis, i) => {
    pads[axis] = given[i];
    pads[axis + x.ndim] = given[i + axes.length];
  });
  // Negative padding takes away.
  x.shape.forEach((n, i) => {
    if (pads[i] < 0 || pads[i + x.ndim] < 0) throw new Unsupported("negative padding");
  });
  const flat = [];
  let from = 0;
  while (from < x.ndim - 1 && !pads[from] && !pads[from + x.ndim]) from++;
  for (let i = x.ndim - 1; i >= from; i--) flat.push(pads[i], pads[i + x.ndim]);
  if (mode === "constant") return F.pad(x, flat, { value: value ? value.item() : attrs.value ?? 0 });
  // Other modes pad the last dimensions of a batch: by gathering along each dimension.
  let t = x;
  for (let i = 0; i < x.ndim; i++) {
    const n = x.shape[i], [before, after] = [pads[i], pads[i + x.ndim]];
    if (!before && !after) continue;
    const at = Array.from({ length: before + n + after }, (_, k) => source(mode, k - before, n));
    t = t.indexSelect(i, tensor(at, { dtype: "int64" }));
  }
  return t;
}

function source(mode, i, n) {
  if (mode === "edge") return Math.max(0, Math.min(n - 1, i));
  if (mode === "wrap") return ((i % n) + n) % n;
  const period = 2 * (n - 1), m = ((i % period) + period) % period;
  return m < n ? m : period - m;
}

function gatherND([x, indices], { batch_dims = 0 }) {
  const depth = indices.shape.at(-1), batch = x.shape.slice(0, batch_dims);
  const b = batch.reduce((p, q) => p * q, 1);
  const rest = x.shape.slice(batch_dims + depth), inner = rest.reduce((p, q) => p * q, 1);
  const { flat } = flatIndex(indices.reshape([b, -1, depth]), x.shape.slice(batch_dims));
  const rows = x.reshape([b, -1, inner]);
  const picked = stack(Array.from({ length: b }, (_, i) => rows.select(0, i).indexSelect(0, flat.select(0, i))), 0);
  return picked.reshape([...indices.shape.slice(0, -1), ...rest]);
}

/** Row numbers of index tuples in the last dimension, negative ones counted from the end. */
function flatIndex(indices, shape) {
  const depth = indices.shape.at(-1);
  let flat = null;
  for (let d = 0; d < depth; d++) {
    const i = indices.select(-1, d), n = shape[d];
    const at = where(i.lt(0), i.add(n), i);
    flat = flat === null ? at : flat.mul(n).add(at);
  }
  return { flat };
}

function scatterND([x, indices, updates], { reduction = "none" }) {
  const depth = indices.shape.at(-1), inner = x.shape.slice(depth).reduce((a, b) => a * b, 1);
  const rows = list(flatIndex(indices.reshape([-1, depth]), x.shape).flat.to("int64"));
  const u = updates.reshape([rows.length, inner]);
  let out = unstack(x.reshape([-1, inner]));
  rows.forEach((row, i) => {
    out[row] = combine(reduction, out[row], u.select(0, i));
  });
  return stack(out, 0).reshape(x.shape);
}

const unstack = (t) => Array.from({ length: t.shape[0] }, (_, i) => t.select(0, i));

function combine(reduction, old, update) {
  return { none: () => update, add: () => old.add(update), mul: () => old.mul(update), max: () => old.maximum(update), min: () => old.minimum(update) }[reduction]();
}

function scatterElements([x, indices, updates], { axis = 0, reduction = "none" }) {
  axis = wrap(axis, x);
  const at = where(indices.lt(0), indices.add(x.shape[axis]), indices).to("int64");
  if (reduction === "add") return x.scatterAdd(axis, at, updates);
  const order = [axis, ...x.shape.map((_, i) => i).filter((i) => i !== axis)];
  const [rows, index, values] = [x, at, updates].map((t) => t.permute(order));
  let columns = unstack(rows.reshape([rows.shape[0], -1]).T);
  const positions = list(index), data = values.reshape([-1]);
  if (index.shape.slice(1).join() !== rows.shape.slice(1).join()) throw new Unsupported("scatter into a part");
  const width = columns.length;
  const table = columns.map((c) => unstack(c));
  positions.forEach((p, i) => {
    table[i % width][p] = combine(reduction, table[i % width][p], data.select(0, i));
  });
  const back = order.map((_, i) => order.indexOf(i));
  return stack(table.map((c) => stack(c, 0)), 1).reshape(rows.shape).permute(back);
}

function gather([x, indices], { axis = 0 }) {
  axis = wrap(axis, x);
  const n = x.shape[axis];
  const flat = where(indices.lt(0), indices.add(n), indices).to("int64").reshape([-1]);
  return x.indexSelect(axis, flat).reshape([...x.shape.slice(0, axis), ...indices.shape, ...x.shape.slice(axis + 1)]);
}

function split([x, sizes], { axis = 0, split, num_outputs }, { outputs }) {
  axis = wrap(axis, x);
  const n = x.shape[axis], parts = sizes ? list(sizes) : split ?? even(n, num_outputs ?? outputs.length);
  return x.split(parts, axis);
}

function even(n, parts) {
  const size = Math.ceil(n / parts);
  return Array.from({ length: parts }, (_, i) => Math.max(0, Math.min(size, n - i * size)));
}

function reshape([x, shape], { allowzero = 0 }) {
  return x.reshape(list(shape).map((d, i) => (d === 0 && !allowzero ? x.shape[i] : d)));
}

function expand([x, shape]) {
  const want = list(shape), n = Math.max(want.length, x.ndim);
  const at = (s, i) => s[i - (n - s.length)] ?? 1;
  return x.expand(Array.from({ length: n }, (_, i) => (at(want, i) === 1 ? at(x.shape, i) : at(want, i))));
}

function losses(nll) {
  return ([x, target, weight], { ignore_index: ignoreIndex = -100, reduction = "mean" }, { outputs }) => {
    const options = { reduction, ignoreIndex, weight };
    for (const k of Object.keys(options)) if (options[k] === null) delete options[k];
    const t = target.to("int64");
    if (nll) return F.nllLoss(x, t, options);
    const loss = F.crossEntropy(x, t, options);
    return outputs[1] ? [loss, F.logSoftmax(x, 1)] : loss;
  };
}

function gemm([a, b, c], { alpha = 1, beta = 1, transA = 0, transB = 0 }) {
  const product = (transA ? a.T : a).matmul(transB ? b.T : b);
  const scaled = alpha === 1 ? product : product.mul(alpha);
  return c ? scaled.add(beta === 1 ? c : c.mul(beta)) : scaled;
}

function resize([x, roi, scales, sizes], attrs) {
  const { mode = "nearest", coordinate_transformation_mode: place = "half_pixel", nearest_mode: round = "round_prefer_floor" } = attrs;
  if (x.ndim !== 4 || attrs.axes || attrs.antialias || attrs.keep_aspect_ratio_policy) throw new Unsupported("Resize with axes, antialias or an aspect ratio, or not of images");
  if (mode === "cubic") throw new Unsupported("cubic interpolation");
  const size = sizes ? list(sizes) : x.shape.map((d, i) => Math.floor(d * list(scales)[i]));
  if (size[0] !== x.shape[0] || size[1] !== x.shape[1]) throw new Unsupported("Resize of batch or channels");
  // Factors that do not fit the size exactly place the samples differently.
  if (scales && list(scales).some((f, i) => f * x.shape[i] !== size[i])) throw new Unsupported("Resize by a factor without a whole size");
  if (mode === "linear" && ["half_pixel", "align_corners"].includes(place)) {
    return F.interpolate(x, { size: size.slice(2), mode: "bilinear", alignCorners: place === "align_corners" });
  }
  if (mode === "nearest" && place === "asymmetric" && round === "floor") return F.interpolate(x, { size: size.slice(2), mode: "nearest" });
  throw new Unsupported(`Resize mode ${mode}, ${place}, ${round}`);
}

function attention([q, k, v, mask, pastKey, pastValue, lengths], attrs, { outputs }) {
  if (lengths || outputs[3] || attrs.softcap || attrs.softmax_precision) throw new Unsupported("Attention with lengths, softcap or inner results");
  const heads = (t, n) => (t.ndim === 4 ? t : t.reshape([t.shape[0], t.shape[1], n, -1]).transpose(1, 2));
  let [hq, hk, hv] = [heads(q, attrs.q_num_heads), heads(k, attrs.kv_num_heads), heads(v, attrs.kv_num_heads)];
  const past = pastKey ? pastKey.shape[2] : 0;
  if (pastKey) [hk, hv] = [concat([pastKey, hk], 2), concat([pastValue, hv], 2)];
  const present = [hk, hv], group = hq.shape[1] / hk.shape[1];
  if (group !== 1) [hk, hv] = [hk, hv].map((t) => spread(t, group));
  const options = {};
  if (attrs.scale) options.scale = attrs.scale;
  if (attrs.is_causal) {
    const seen = full([hq.shape[2], hk.shape[2]], true).tril(past);
    options.attnMask = !mask ? seen : mask.dtype === "bool" ? mask.logicalAnd(seen) : where(seen, mask, like(-Infinity, mask));
  } else if (mask) options.attnMask = mask;
  const y = F.scaledDotProductAttention(hq, hk, hv, options);
  return [q.ndim === 4 ? y : y.transpose(1, 2).reshape([q.shape[0], q.shape[1], -1]), ...present];
}

/** Each head of dimension 1 `n` times. */
function spread(t, n) {
  const [b, h, s, d] = t.shape;
  return t.unsqueeze(2).expand([b, h, n, s, d]).reshape([b, h * n, s, d]);
}

function rmsNorm([x, scale], { axis = -1, epsilon = 1e-5 }) {
  const shape = x.shape.slice(wrap(axis, x));
  return F.rmsNorm(x, shape, fit(scale, shape), epsilon);
}

function topK([x, k], { axis = -1, largest = 1, sorted = 1 }) {
  const { values, indices } = x.topk(scalar(k), axis, { largest: largest !== 0, sorted: sorted !== 0 });
  return [values, indices];
}

function oneHot([indices, depth, values], { axis = -1 }) {
  const n = scalar(depth), at = where(indices.lt(0), indices.add(n), indices);
  const place = axis < 0 ? axis + indices.ndim + 1 : axis;
  const shape = Array(indices.ndim + 1).fill(1);
  shape[place] = n;
  const hit = at.to("int64").unsqueeze(place).eq(arange(n).reshape(shape));
  return where(hit, values.select(0, 1), values.select(0, 0));
}

function cumulative(name) {
  return ([x, axis], { exclusive = 0, reverse = 0 }) => {
    const dim = wrap(scalar(axis), x);
    let t = reverse ? x.flip([dim]) : x;
    t = exclusive ? concat([zeros(t.narrow(dim, 0, 1).shape, { dtype: x.dtype }), t.narrow(dim, 0, t.shape[dim] - 1)], dim) : t;
    t = method(t, name)(dim).to(x.dtype);
    return reverse ? t.flip([dim]) : t;
  };
}

function depthToSpace([x], { blocksize: b, mode = "DCR" }) {
  const [n, c, h, w] = x.shape, k = c / (b * b);
  const t = mode === "DCR" ? x.reshape([n, b, b, k, h, w]).permute([0, 3, 4, 1, 5, 2]) : x.reshape([n, k, b, b, h, w]).permute([0, 1, 4, 2, 5, 3]);
  return t.reshape([n, k, h * b, w * b]);
}

function spaceToDepth([x], { blocksize: b }) {
  const [n, c, h, w] = x.shape;
  return x.reshape([n, c, h / b, b, w / b, b]).permute([0, 3, 5, 1, 2, 4]).reshape([n, c * b * b, h / b, w / b]);
}

function mod([a, b], { fmod = 0 }) {
  if (!fmod) return a.remainder(b);
  if (isFloat(a)) return a.sub(a.div(b).trunc().mul(b));
  const r = a.abs().remainder(b.abs());
  return where(a.lt(0), r.neg(), r);
}

function div([a, b]) {
  if (isFloat(a)) return a.div(b);
  // Integers are divided towards zero.
  const q = a.floorDivide(b), exact = q.mul(b).eq(a), negative = a.lt(0).ne(b.lt(0));
  return where(exact.logicalNot().logicalAnd(negative), q.add(1), q).to(a.dtype);
}

function dropout([x, ratio, training], attrs, { outputs }) {
  if (training && scalar(training) && (ratio ? scalar(ratio) : 0.5) > 0) throw new Unsupported("random numbers");
  const all = full(x.shape, true);
  return outputs[1] ? [x, all] : x;
}

function clip([x, low, high], { min, max }) {
  const bound = (t, n) => (t ? t : n === undefined ? undefined : n);
  const [a, b] = [bound(low, min), bound(high, max)];
  return a === undefined && b === undefined ? x : x.clamp(a, b);
}

function cast(x, dtype) {
  if (dtype === "bool") return x.ne(0);
  return x.to(dtype);
}

function lpNormalization([x], { axis = -1, p = 2 }) {
  const n = p === 1 ? x.abs().sum(axis, { keepdim: true }) : x.square().sum(axis, { keepdim: true }).sqrt();
  return x.div(n);
}

function hardmax([x], { axis }, { opset }) {
  const run = (t, at) => {
    const n = t.shape[wrap(at, t)], shape = t.shape.map((_, i) => (i === wrap(at, t) ? n : 1));
    return t.argmax(at, { keepdim: true }).eq(arange(n).reshape(shape)).to(t.dtype);
  };
  if (opset >= 13) return run(x, axis ?? -1);
  const at = wrap(axis ?? 1, x);
  return run(x.reshape([x.shape.slice(0, at).reduce((p, q) => p * q, 1), -1]), 1).reshape(x.shape);
}

function instanceNorm([x, scale, bias], { epsilon = 1e-5 }) {
  return F.groupNorm(x, x.shape[1], scale, bias, epsilon);
}

function eyeLike([x], { dtype, k = 0 }) {
  const [n, m] = x.shape;
  return arange(n).reshape([n, 1]).add(k).eq(arange(m).reshape([1, m])).to(dtype ? typeOf(dtype) : x.dtype);
}

function constantOfShape([shape], { value }) {
  const v = value ?? tensor([0]);
  return v.reshape([]).expand(list(shape)).clone();
}

function constant(inputs, { value, value_float, value_int, value_floats, value_ints }) {
  if (value) return value;
  if (value_float !== undefined) return tensor(value_float);
  if (value_int !== undefined) return tensor(BigInt(value_int));
  return value_floats ? tensor(value_floats) : tensor(value_ints.map(BigInt));
}

function range([start, limit, delta]) {
  const n = Math.max(0, Math.ceil((scalar(limit) - scalar(start)) / scalar(delta)));
  return arange(n, { dtype: start.dtype }).mul(delta).add(start);
}

/** ONNX's order of gates as that of nn's layers. */
const GATES = { RNN: [0], LSTM: [0, 2, 3, 1], GRU: [1, 0, 2] };

function recurrent(kind) {
  return ([x, w, r, b, lengths, h0, c0, peepholes], attrs, { outputs }) => {
    const { hidden_size: hidden, direction = "forward", layout = 0, clip, activations, linear_before_reset = 0 } = attrs;
    if (peepholes || clip || lengths || activations) throw new Unsupported(`${kind} with peepholes, clip, lengths or other activations`);
    if (kind === "GRU" && !linear_before_reset) throw new Unsupported("GRU that resets before the product");
    if (direction === "reverse") throw new Unsupported("backward recurrence alone");
    const layer = new mlrun.nn[kind](x.shape[2], hidden, { bidirectional: direction === "bidirectional" });
    const order = (t) => concat(GATES[kind].map((g) => t.narrow(0, g * hidden, hidden)), 0);
    const state = {};
    for (const key of Object.keys(layer.stateDict())) {
      const dir = /reverse/i.test(key) ? 1 : 0, recurrentPart = /hh/i.test(key);
      const n = w.shape[1];
      if (/weight/.test(key)) state[key] = order((recurrentPart ? r : w).select(0, dir));
      else state[key] = b ? order(b.select(0, dir).narrow(0, recurrentPart ? n : 0, n)) : zeros([n]);
    }
    layer.loadStateDict(state);
    const steps = layout ? x.transpose(0, 1) : x;
    const start = (t) => (t ? (layout ? t.transpose(0, 1) : t).contiguous() : null);
    const first = kind === "LSTM" ? (h0 && c0 ? [start(h0), start(c0)] : undefined) : start(h0) ?? undefined;
    const [y, last] = layer.forward(steps, first);
    const dirs = direction === "bidirectional" ? 2 : 1;
    // [seq, batch, dirs * hidden] as [seq, dirs, batch, hidden].
    const parts = y.reshape([y.shape[0], y.shape[1], dirs, hidden]).transpose(1, 2);
    const final = (t) => (layout ? t.transpose(0, 1) : t);
    const states = kind === "LSTM" ? last.map(final) : [final(last)];
    return [layout ? parts.permute([2, 0, 1, 3]) : parts, ...states].map((t) => t.detach());
  };
}

function compress([x, condition], { axis }) {
  const t = axis === undefined ? x.reshape([-1]) : x, dim = axis === undefined ? 0 : wrap(axis, x);
  const kept = Array.from(condition.toTypedArray(), (v, i) => (v ? i : -1)).filter((i) => i >= 0 && i < t.shape[dim]);
  return t.indexSelect(dim, tensor(kept.map(BigInt), { dtype: "int64" }));
}

const reduceOf = (name) => reduction((x, axes, options) => method(x, name)(axes, options));
const compare = (name) => ([a, b]) => a[name](b);
const sumDims = (x, axes, options) => x.sum(axes, options);

/** Reductions that take one dimension. */
function eachDim(name) {
  return reduction((x, axes, { keepdim }) => {
    let t = x;
    for (const axis of axes.map((a) => wrap(a, x)).sort((a, b) => b - a)) t = method(t, name)(axis, { keepdim });
    return t;
  });
}

export const adapters = {
  Abs: unary("abs"), Acos: unary("acos"), Asin: unary("asin"), Atan: unary("atan"), Ceil: unary("ceil"),
  Cos: unary("cos"), Cosh: unary("cosh"), Erf: unary("erf"), Exp: unary("exp"), Floor: unary("floor"),
  IsNaN: unary("isnan"), Log: unary("log"), Neg: unary("neg"), Not: unary("logicalNot"), Reciprocal: unary("reciprocal"),
  Relu: unary("relu"), Round: unary("round"), Sigmoid: unary("sigmoid"), Sign: unary("sign"), Sin: unary("sin"),
  Sinh: unary("sinh"), Sqrt: unary("sqrt"), Tan: unary("tan"), Tanh: unary("tanh"), Softplus: unary("softplus"),
  Add: binary("add"), Sub: binary("sub"), Mul: binary("mul"), Div: div, Mod: mod,
  Pow: ([a, b]) => a.pow(b).to(a.dtype),
  And: compare("logicalAnd"), Or: compare("logicalOr"), Xor: compare("ne"), Equal: compare("eq"), Greater: compare("gt"),
  GreaterOrEqual: compare("ge"), Less: compare("lt"), LessOrEqual: compare("le"),
  BitwiseAnd: binary("bitwiseAnd"), BitwiseOr: binary("bitwiseOr"), BitwiseXor: binary("bitwiseXor"),
  BitwiseNot: ([x]) => x.bitwiseXor(-1),
  Max: fold("maximum"), Min: fold("minimum"), Sum: fold("add"), Mean: (args) => args.reduce((a, b) => a.add(b)).div(args.length),
  Elu: ([x], { alpha = 1 }) => x.elu(alpha), LeakyRelu: ([x], { alpha = 0.01 }) => x.leakyRelu(alpha),
  Gelu: ([x], { approximate = "none" }) => x.gelu({ approximate }), Swish: ([x], { alpha = 1 }) => x.mul(x.mul(alpha).sigmoid()),
  Selu: ([x], { alpha = 1.6732631921768188, gamma = 1.0507010221481323 }) => x.elu(alpha).mul(gamma),
  Celu: ([x], { alpha = 1 }) => where(x.lt(0), x.div(alpha).elu(alpha), x),
  Softsign: ([x]) => x.div(x.abs().add(1)), Mish: ([x]) => x.mul(x.softplus().tanh()),
  HardSigmoid: ([x], { alpha = 0.2, beta = 0.5 }) => x.mul(alpha).add(beta).clamp(0, 1),
  HardSwish: ([x]) => x.mul(x.div(6).add(0.5).clamp(0, 1)),
  ThresholdedRelu: ([x], { alpha = 1 }) => where(x.gt(alpha), x, like(0, x)),
  PRelu: ([x, slope]) => where(x.lt(0), x.mul(slope), x),
  Shrink: ([x], { lambd = 0.5, bias = 0 }) => where(x.lt(-lambd), x.add(bias), where(x.gt(lambd), x.sub(bias), like(0, x))).to(x.dtype),
  IsInf: ([x], { detect_negative = 1, detect_positive = 1 }) => {
    const [p, n] = [x.eq(Infinity), x.eq(-Infinity)];
    return detect_negative && detect_positive ? x.isinf() : detect_positive ? p : detect_negative ? n : p.logicalAnd(n);
  },
  Clip: clip, Where: ([c, a, b]) => where(c, a, b), Identity: ([x]) => x, Dropout: dropout,
  Cast: ([x], { to }) => cast(x, typeOf(to)), CastLike: ([x, y]) => cast(x, y.dtype),
  Softmax: softmaxLike((x, d) => F.softmax(x, d)), LogSoftmax: softmaxLike((x, d) => F.logSoftmax(x, d)), Hardmax: hardmax,
  ArgMax: arg("argmax"), ArgMin: arg("argmin"), TopK: topK, NonZero: ([x]) => x.nonzero().T,
  ReduceSum: reduceOf("sum"), ReduceMean: reduceOf("mean"), ReduceMax: reduceOf("amax"), ReduceMin: reduceOf("amin"),
  ReduceProd: eachDim("prod"), ReduceLogSumExp: reduceOf("logsumexp"),
  ReduceSumSquare: reduction((x, axes, o) => sumDims(x.square(), axes, o)),
  ReduceL1: reduction((x, axes, o) => sumDims(x.abs(), axes, o)),
  ReduceL2: reduction((x, axes, o) => sumDims(x.square(), axes, o).sqrt()),
  ReduceLogSum: reduction((x, axes, o) => sumDims(x, axes, o).log()),
  CumSum: cumulative("cumsum"), CumProd: cumulative("cumprod"),
  MatMul: binary("matmul"), Gemm: gemm, Einsum: (args, { equation }) => mlrun.einsum(equation, ...args), Det: ([x]) => x.det(),
  Transpose: ([x], { perm }) => x.permute(perm ?? x.shape.map((_, i) => x.ndim - 1 - i)),
  Reshape: reshape, Expand: expand, Flatten: ([x], { axis = 1 }) => {
    const rows = x.shape.slice(0, axis < 0 ? axis + x.ndim : axis).reduce((a, b) => a * b, 1);
    return x.reshape([rows, x.size === 0 ? 0 : -1]);
  },
  Squeeze: (args, attrs) => args[0].squeeze(axesOf(args, attrs) ?? undefined),
  Unsqueeze: (args, attrs) => {
    const axes = axesOf(args, attrs), n = args[0].ndim + axes.length;
    return axes.map((a) => (a < 0 ? a + n : a)).sort((a, b) => a - b).reduce((t, a) => t.unsqueeze(a), args[0]);
  },
  Shape: ([x], { start = 0, end }) => tensor(x.shape.slice(start, end).map(BigInt), { dtype: "int64" }),
  Size: ([x]) => tensor(BigInt(x.size)), Concat: (args, { axis }) => concat(args, axis), Split: split, Slice: slice,
  Tile: ([x, counts]) => x.tile(...list(counts)), Pad: pad, Trilu: ([x, k], { upper = 1 }) => (upper ? x.triu(k ? scalar(k) : 0) : x.tril(k ? scalar(k) : 0)),
  Gather: gather, GatherElements: ([x, i], { axis = 0 }) => {
    const at = where(i.lt(0), i.add(x.shape[wrap(axis, x)]), i).to("int64");
    return x.gather(axis, at);
  },
  GatherND: gatherND, ScatterElements: scatterElements, Scatter: scatterElements, ScatterND: scatterND, Compress: compress,
  OneHot: oneHot, EyeLike: eyeLike, ConstantOfShape: constantOfShape, Constant: constant, Range: range,
  DepthToSpace: depthToSpace, SpaceToDepth: spaceToDepth, Resize: resize, Upsample: ([x, s], attrs) => resize([x, null, s], { ...attrs, coordinate_transformation_mode: "asymmetric", nearest_mode: "floor" }),
  Conv: conv, ConvTranspose: convTranspose, MaxPool: pool("max"), AveragePool: pool("avg"),
  GlobalAveragePool: globalPool("mean"), GlobalMaxPool: globalPool("amax"),
  BatchNormalization: batchNorm, LayerNormalization: layerNorm, RMSNormalization: rmsNorm, InstanceNormalization: instanceNorm,
  GroupNormalization: ([x, scale, bias], { num_groups, epsilon = 1e-5 }) => F.groupNorm(x, num_groups, scale, bias, epsilon),
  LpNormalization: lpNormalization,
  MeanVarianceNormalization: ([x], { axes = [0, 2, 3] }) => {
    const centred = x.sub(x.mean(axes, { keepdim: true }));
    return centred.div(centred.square().mean(axes, { keepdim: true }).sqrt().add(1e-9));
  },
  NegativeLogLikelihoodLoss: losses(true), SoftmaxCrossEntropyLoss: losses(false), Attention: attention,
  LSTM: recurrent("LSTM"), GRU: recurrent("GRU"), RNN: recurrent("RNN"),
};
