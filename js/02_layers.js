// Layers of nn: linear, convolution, embedding, normalisation, dropout, pooling, containers.
// Defaults, first values and names in the state are PyTorch's; the arithmetic is nn.functional's.

import { describe, integer, isTensor, numberError, options, tensorArg } from "ext:mlrun_tensor/00_handle.js";
import { ones, rand, randn, tensor, zeros } from "ext:mlrun_tensor/00_make.js";
import { noGrad } from "ext:mlrun_tensor/01_autograd.js";
import * as F from "ext:mlrun_tensor/02_functional.js";
import { located, Module, Parameter, parameterOrNull } from "ext:mlrun_tensor/02_module.js";
import { modulesOn } from "ext:mlrun_tensor/02_walk.js";

/** A whole number of at least `low` given by the user. */
export function count(op, name, v, low = 1) {
  if (integer(op, name, v) < low) throw new RangeError(`${op}: ${name} must be at least ${low}, got ${v}`);
  return v;
}

/** Uniform in +-bound. */
export const uniform = (shape, bound) => rand(shape).mul(2 * bound).sub(bound);

/** Options as they stand in the brackets of a printed layer: those that differ from `defaults`. */
export function shown(own, defaults) {
  const parts = [];
  for (const key of Object.keys(defaults)) {
    if (String(own[key]) !== String(defaults[key])) parts.push(`, ${key}=${text(own[key])}`);
  }
  return parts.join("");
}
const text = (v) => (Array.isArray(v) ? `[${v.join(", ")}]` : typeof v === "string" ? `"${v}"` : String(v));

/** `y = x W^T + b`; weight and bias uniform in +-1/sqrt(inFeatures). */
export class Linear extends Module {
  constructor(inFeatures, outFeatures, given) {
    super();
    const { bias = true } = options("nn.Linear", given, ["bias"]);
    this.inFeatures = count("nn.Linear", "inFeatures", inFeatures, 0);
    this.outFeatures = count("nn.Linear", "outFeatures", outFeatures, 0);
    const bound = inFeatures > 0 ? 1 / Math.sqrt(inFeatures) : 0;
    this.weight = new Parameter(uniform([outFeatures, inFeatures], bound));
    this.bias = parameterOrNull(bias, () => uniform([outFeatures], bound));
  }
  forward(x) {
    try {
      return F.linear(x, this.weight, this.bias);
    } catch (e) {
      throw located(this, e);
    }
  }
  extraRepr() {
    return `inFeatures=${this.inFeatures}, outFeatures=${this.outFeatures}, bias=${this.bias !== null}`;
  }
}

/** Gives back its input. */
export class Identity extends Module {
  forward(x) {
    return x;
  }
}

/** Dimensions from `startDim` to `endDim` as one. */
export class Flatten extends Module {
  constructor(given) {
    super();
    const { startDim = 1, endDim = -1 } = options("nn.Flatten", given, ["startDim", "endDim"]);
    this.startDim = integer("nn.Flatten", "startDim", startDim);
    this.endDim = integer("nn.Flatten", "endDim", endDim);
  }
  forward(x) {
    try {
      return tensorArg("nn.Flatten", "input", x).flatten(this.startDim, this.endDim);
    } catch (e) {
      throw located(this, e);
    }
  }
  extraRepr() {
    return `startDim=${this.startDim}, endDim=${this.endDim}`;
  }
}

// ---- Convolution.

/** A number for every dimension, or one per dimension, as a list. */
function perDim(op, name, v, n, low) {
  const out = typeof v === "number" ? Array(n).fill(v) : v;
  if (!Array.isArray(out) || out.length !== n) {
    throw new TypeError(`${op}: ${name} must be a number or an array of ${n}, got ${describe(v)}`);
  }
  for (const x of out) count(op, name, x, low);
  return out;
}

const CONV = { stride: 1, padding: 0, dilation: 1, groups: 1, bias: true };
const PADDING_MODES = ["zeros", "reflect", "replicate", "circular"];

function paddingOption(op, padding, dims, transposed) {
  if (typeof padding !== "string" || transposed) return perDim(op, "padding", padding, dims, 0);
  if (padding !== "same" && padding !== "valid") {
    throw new TypeError(`${op}: unknown padding "${padding}", expected numbers, same or valid`);
  }
  return padding;
}

class Conv extends Module {
  constructor(op, dims, [inChannels, outChannels, kernelSize], given, defaults, transposed) {
    super();
    const o = { ...defaults, ...options(op, given, Object.keys(defaults)) };
    this.inChannels = count(op, "inChannels", inChannels);
    this.outChannels = count(op, "outChannels", outChannels);
    this.kernelSize = perDim(op, "kernelSize", kernelSize, dims, 1);
    this.stride = perDim(op, "stride", o.stride, dims, 1);
    this.padding = paddingOption(op, o.padding, dims, transposed);
    this.dilation = perDim(op, "dilation", o.dilation, dims, 1);
    this.groups = count(op, "groups", o.groups);
    if (inChannels % o.groups !== 0 || outChannels % o.groups !== 0) {
      throw new RangeError(`${op}: groups ${o.groups} must divide inChannels ${inChannels} and outChannels ${outChannels}`);
    }
    const [first, second] = transposed ? [inChannels, outChannels] : [outChannels, inChannels];
    const shape = [first, second / o.groups, ...this.kernelSize];
    const bound = 1 / Math.sqrt(shape.slice(1).reduce((n, d) => n * d, 1));
    this.weight = new Parameter(uniform(shape, bound));
    this.bias = parameterOrNull(o.bias, () => uniform([outChannels], bound));
  }
  extraRepr() {
    const { inChannels, outChannels, kernelSize, stride } = this;
    const one = kernelSize.map(() => 1), none = kernelSize.map(() => 0);
    const rest = shown({ ...this, bias: this.bias !== null }, {
      padding: none, outputPadding: this.outputPadding && none, dilation: one, groups: 1, bias: true,
      paddingMode: this.paddingMode && "zeros",
    });
    return `${inChannels}, ${outChannels}, kernelSize=${text(kernelSize)}, stride=${text(stride)}${rest}`;
  }
}

class PlainConv extends Conv {
  constructor(op, dims, args, given) {
    super(op, dims, args, given, { ...CONV, paddingMode: "zeros" }, false);
    this.paddingMode = given?.paddingMode ?? "zeros";
    if (!PADDING_MODES.includes(this.paddingMode)) {
      throw new TypeError(`${op}: unknown paddingMode "${this.paddingMode}", expected ${PADDING_MODES.join(", ")}`);
    }
  }
  /** The input with its edges, and the padding that is left to the convolution. */
  padded(x) {
    const { padding, kernelSize, dilation } = this;
    if (this.paddingMode === "zeros" || padding === "valid") return [x, padding];
    // F.pad lists the last dimension first.
    const edges = [];
    for (let i = kernelSize.length - 1; i >= 0; i--) {
      const total = dilation[i] * (kernelSize[i] - 1), same = padding === "same";
      edges.push(same ? Math.floor(total / 2) : padding[i], same ? total - Math.floor(total / 2) : padding[i]);
    }
    return [F.pad(x, edges, { mode: this.paddingMode }), 0];
  }
}

/** `[batch, in, length]` to `[batch, out, length']`; weight `[out, in / groups, kernel]`. */
export class Conv1d extends PlainConv {
  constructor(inChannels, outChannels, kernelSize, given) {
    super("nn.Conv1d", 1, [inChannels, outChannels, kernelSize], given);
  }
  forward(x) {
    try {
      const { stride, dilation, groups } = this;
      const [input, padding] = this.padded(x);
      return F.conv1d(input, this.weight, this.bias, { stride, padding, dilation, groups });
    } catch (e) {
      throw located(this, e);
    }
  }
}

/** `[batch, in, height, width]` to `[batch, out, height', width']`. */
export class Conv2d extends PlainConv {
  constructor(inChannels, outChannels, kernelSize, given) {
    super("nn.Conv2d", 2, [inChannels, outChannels, kernelSize], given);
  }
  forward(x) {
    try {
      const { stride, dilation, groups } = this;
      const [input, padding] = this.padded(x);
      return F.conv2d(input, this.weight, this.bias, { stride, padding, dilation, groups });
    } catch (e) {
      throw located(this, e);
    }
  }
}

/** The gradient of a Conv2d as a layer; weight `[in, out / groups, height, width]`. */
export class ConvTranspose2d extends Conv {
  constructor(inChannels, outChannels, kernelSize, given) {
    const op = "nn.ConvTranspose2d";
    super(op, 2, [inChannels, outChannels, kernelSize], given, { ...CONV, outputPadding: 0 }, true);
    this.outputPadding = perDim(op, "outputPadding", given?.outputPadding ?? 0, 2, 0);
  }
  forward(x) {
    try {
      const { stride, padding, outputPadding, dilation, groups } = this;
      return F.convTranspose2d(x, this.weight, this.bias, { stride, padding, outputPadding, dilation, groups });
    } catch (e) {
      throw located(this, e);
    }
  }
}

// ---- Embedding.

/** Rows of a table by index: `[...]` of int64 to `[..., embeddingDim]`; normal at first. */
export class Embedding extends Module {
  constructor(numEmbeddings, embeddingDim, given) {
    super();
    const { paddingIdx = null } = options("nn.Embedding", given, ["paddingIdx"]);
    this.numEmbeddings = count("nn.Embedding", "numEmbeddings", numEmbeddings);
    this.embeddingDim = count("nn.Embedding", "embeddingDim", embeddingDim);
    this.paddingIdx = paddingIdx === null ? null : paddingRow(paddingIdx, numEmbeddings);
    const table = randn([numEmbeddings, embeddingDim]);
    if (this.paddingIdx !== null) table.select(0, this.paddingIdx).zero_();
    this.weight = new Parameter(table);
  }
  /** A layer over a table that is there already, not trained unless `freeze` is false. */
  static fromPretrained(table, given) {
    const { freeze = true, paddingIdx = null } = options("nn.Embedding.fromPretrained", given, ["freeze", "paddingIdx"]);
    if (tensorArg("nn.Embedding.fromPretrained", "table", table).ndim !== 2) {
      throw new RangeError(`nn.Embedding.fromPretrained: got shape [${table.shape.join(", ")}], expected two dimensions`);
    }
    const layer = new Embedding(table.shape[0], table.shape[1], { paddingIdx });
    layer.weight = new Parameter(table, { requiresGrad: !freeze });
    return layer;
  }
  forward(ids) {
    try {
      const { paddingIdx } = this;
      return paddingIdx === null ? F.embedding(ids, this.weight) : F.embedding(ids, this.weight, { paddingIdx });
    } catch (e) {
      throw located(this, e);
    }
  }
  extraRepr() {
    return `${this.numEmbeddings}, ${this.embeddingDim}${shown(this, { paddingIdx: null })}`;
  }
}

function paddingRow(at, n) {
  if (integer("nn.Embedding", "paddingIdx", at) >= n || at < -n) {
    throw new RangeError(`nn.Embedding: paddingIdx ${at} is out of range for ${n} rows`);
  }
  return at < 0 ? at + n : at;
}

// ---- Normalisation.

const shapeOption = (op, shape) => {
  const dims = typeof shape === "number" ? [shape] : Array.isArray(shape) ? [...shape] : null;
  if (dims === null) throw new TypeError(`${op}: normalizedShape must be a number or an array, got ${describe(shape)}`);
  for (const d of dims) count(op, "normalizedShape", d);
  return dims;
};

/** Mean 0 and variance 1 over the last dimensions, then `* weight + bias`. */
export class LayerNorm extends Module {
  constructor(normalizedShape, given) {
    super();
    const known = ["eps", "elementwiseAffine", "bias"];
    const { eps = 1e-5, elementwiseAffine = true, bias = true } = options("nn.LayerNorm", given, known);
    this.normalizedShape = shapeOption("nn.LayerNorm", normalizedShape);
    this.eps = eps;
    const shape = this.normalizedShape;
    this.weight = parameterOrNull(elementwiseAffine, () => ones(shape));
    this.bias = parameterOrNull(elementwiseAffine && bias, () => zeros(shape));
  }
  forward(x) {
    try {
      return F.layerNorm(x, this.normalizedShape, this.weight, this.bias, this.eps);
    } catch (e) {
      throw located(this, e);
    }
  }
  extraRepr() {
    return `${text(this.normalizedShape)}, eps=${this.eps}, elementwiseAffine=${this.weight !== null}`;
  }
}

/** Root mean square 1 over the last dimensions, then `* weight`; `eps` null is the dtype's own. */
export class RMSNorm extends Module {
  constructor(normalizedShape, given) {
    super();
    const { eps = null, elementwiseAffine = true } = options("nn.RMSNorm", given, ["eps", "elementwiseAffine"]);
    this.normalizedShape = shapeOption("nn.RMSNorm", normalizedShape);
    this.eps = eps;
    const shape = this.normalizedShape;
    this.weight = parameterOrNull(elementwiseAffine, () => ones(shape));
  }
  forward(x) {
    try {
      return F.rmsNorm(x, this.normalizedShape, this.weight, this.eps ?? undefined);
    } catch (e) {
      throw located(this, e);
    }
  }
  extraRepr() {
    return `${text(this.normalizedShape)}, eps=${this.eps}, elementwiseAffine=${this.weight !== null}`;
  }
}

class BatchNorm extends Module {
  static snakeNames = /^(runningMean|runningVar|numBatchesTracked)$/;
  constructor(op, numFeatures, given) {
    super();
    const known = ["eps", "momentum", "affine", "trackRunningStats"];
    const { eps = 1e-5, momentum = 0.1, affine = true, trackRunningStats = true } = options(op, given, known);
    this.numFeatures = count(op, "numFeatures", numFeatures);
    this.eps = eps;
    this.momentum = momentum;
    this.trackRunningStats = trackRunningStats;
    this.weight = parameterOrNull(affine, () => ones([numFeatures]));
    this.bias = parameterOrNull(affine, () => zeros([numFeatures]));
    this.registerBuffer("runningMean", trackRunningStats ? zeros([numFeatures]) : null);
    this.registerBuffer("runningVar", trackRunningStats ? ones([numFeatures]) : null);
    this.registerBuffer("numBatchesTracked", trackRunningStats ? tensor(0, { dtype: "int64" }) : null);
  }
  normalized(name, x, ranks) {
    tensorArg(name, "input", x);
    if (!ranks.includes(x.ndim) || x.shape[1] !== this.numFeatures) {
      throw new RangeError(`${name}: got input [${x.shape.join(", ")}], expected ${ranks.join(" or ")} dimensions with ` +
        `${this.numFeatures} in the second`);
    }
    const measuring = this.training && this.trackRunningStats;
    let momentum = this.momentum;
    if (measuring) {
      noGrad(() => this.numBatchesTracked.add_(1));
      // Without a momentum the running values are the mean over all batches.
      momentum ??= 1 / Number(this.numBatchesTracked.item());
    }
    const training = this.training || this.runningMean === null;
    const o = { training, momentum: momentum ?? 0, eps: this.eps };
    return F.batchNorm(x, this.runningMean, this.runningVar, this.weight, this.bias, o);
  }
  extraRepr() {
    const { numFeatures, eps, momentum, trackRunningStats } = this;
    return `${numFeatures}, eps=${eps}, momentum=${momentum}, affine=${this.weight !== null}, trackRunningStats=${trackRunningStats}`;
  }
}

/** Mean 0 and variance 1 per feature over a batch `[n, features]` or `[n, features, length]`. */
export class BatchNorm1d extends BatchNorm {
  constructor(numFeatures, given) {
    super("nn.BatchNorm1d", numFeatures, given);
  }
  forward(x) {
    try {
      return this.normalized("nn.BatchNorm1d", x, [2, 3]);
    } catch (e) {
      throw located(this, e);
    }
  }
}

/** Mean 0 and variance 1 per channel over a batch `[n, channels, height, width]`. */
export class BatchNorm2d extends BatchNorm {
  constructor(numFeatures, given) {
    super("nn.BatchNorm2d", numFeatures, given);
  }
  forward(x) {
    try {
      return this.normalized("nn.BatchNorm2d", x, [4]);
    } catch (e) {
      throw located(this, e);
    }
  }
}

/** Mean 0 and variance 1 over groups of channels of `[n, channels, ...]`. */
export class GroupNorm extends Module {
  constructor(numGroups, numChannels, given) {
    super();
    const { eps = 1e-5, affine = true } = options("nn.GroupNorm", given, ["eps", "affine"]);
    this.numGroups = count("nn.GroupNorm", "numGroups", numGroups);
    this.numChannels = count("nn.GroupNorm", "numChannels", numChannels);
    if (numChannels % numGroups !== 0) {
      throw new RangeError(`nn.GroupNorm: numGroups ${numGroups} must divide numChannels ${numChannels}`);
    }
    this.eps = eps;
    this.weight = parameterOrNull(affine, () => ones([numChannels]));
    this.bias = parameterOrNull(affine, () => zeros([numChannels]));
  }
  forward(x) {
    try {
      return F.groupNorm(x, this.numGroups, this.weight, this.bias, this.eps);
    } catch (e) {
      throw located(this, e);
    }
  }
  extraRepr() {
    return `${this.numGroups}, ${this.numChannels}, eps=${this.eps}, affine=${this.weight !== null}`;
  }
}

/** In training each element is 0 with probability p, the others divided by 1 - p. */
export class Dropout extends Module {
  constructor(p = 0.5) {
    super();
    if (typeof p !== "number" || !(p >= 0 && p <= 1)) {
      throw numberError(p, `nn.Dropout: p must be a number from 0 to 1, got ${describe(p)}`);
    }
    this.p = p;
  }
  forward(x) {
    try {
      return F.dropout(x, this.p, { training: this.training });
    } catch (e) {
      throw located(this, e);
    }
  }
  extraRepr() {
    return `p=${this.p}`;
  }
}

// ---- Pooling.

const POOL = { stride: null, padding: 0, ceilMode: false };

class Pool extends Module {
  constructor(op, kernelSize, given, defaults) {
    super();
    this.kernelSize = perDim(op, "kernelSize", kernelSize, 2, 1);
    this.settings = { ...defaults, ...options(op, given, Object.keys(defaults)) };
    this.settings.stride ??= this.kernelSize;
  }
  extraRepr() {
    const rest = Object.entries(this.settings).filter(([, v]) => v !== null).map(([k, v]) => `${k}=${text(v)}`);
    return `kernelSize=${text(this.kernelSize)}, ${rest.join(", ")}`;
  }
}

/** The largest of each window of `[n, channels, height, width]`; stride is the window's size. */
export class MaxPool2d extends Pool {
  constructor(kernelSize, given) {
    super("nn.MaxPool2d", kernelSize, given, { ...POOL, dilation: 1 });
  }
  forward(x) {
    try {
      return F.maxPool2d(x, this.kernelSize, this.settings);
    } catch (e) {
      throw located(this, e);
    }
  }
}

/** The mean of each window of `[n, channels, height, width]`; stride is the window's size. */
export class AvgPool2d extends Pool {
  constructor(kernelSize, given) {
    super("nn.AvgPool2d", kernelSize, given, { ...POOL, countIncludePad: true });
  }
  forward(x) {
    try {
      return F.avgPool2d(x, this.kernelSize, this.settings);
    } catch (e) {
      throw located(this, e);
    }
  }
}

// ---- Containers.

function moduleArg(op, at, layer) {
  if (!(layer instanceof Module)) {
    const hint = layer?.prototype instanceof Module ? `, write new ${layer.name}(...)` : "";
    throw new TypeError(`${op}: layer ${at} is ${describe(layer)}, expected a module${hint}`);
  }
  return layer;
}

/** Modules one behind the other: a list of them, or an object that names them. */
export class Sequential extends Module {
  constructor(...layers) {
    super();
    const named = layers.length === 1 && !(layers[0] instanceof Module) && layers[0] !== null && typeof layers[0] === "object" &&
      !isTensor(layers[0]) && !Array.isArray(layers[0]);
    const from = named ? layers[0] : layers;
    for (const key of Object.keys(from)) this[key] = moduleArg("nn.Sequential", key, from[key]);
  }
  get length() {
    return this.children().length;
  }
  forward(x) {
    const layers = modulesOn(this);
    for (let i = 0; i < layers.length; i++) x = layers[i].forward(x);
    return x;
  }
  [Symbol.iterator]() {
    return modulesOn(this)[Symbol.iterator]();
  }
}

/** Modules in a list that is one too: `for (const block of this.blocks)`, `this.blocks[0]`. */
export class ModuleList extends Module {
  static joinsEqual = true;
  constructor(modules = []) {
    super();
    this.extend(modules);
  }
  get length() {
    return modulesOn(this).length;
  }
  append(module) {
    const { length } = this;
    this[length] = moduleArg("nn.ModuleList", length, module);
    return this;
  }
  extend(modules) {
    if (modules === null || typeof modules?.[Symbol.iterator] !== "function") {
      throw new TypeError(`nn.ModuleList: expected modules, got ${describe(modules)}`);
    }
    for (const m of modules) this.append(m);
    return this;
  }
  at(index) {
    return modulesOn(this).at(index);
  }
  [Symbol.iterator]() {
    return modulesOn(this)[Symbol.iterator]();
  }
  forward() {
    throw new TypeError("nn.ModuleList: has no forward, call those of the modules in it");
  }
}
