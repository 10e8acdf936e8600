// Attention layers, with PyTorch's parameters and names: `[length, batch, features]` unless
// batchFirst is set, masks of booleans hide where they are true.

import { describe, isTensor, options, tensorArg } from "ext:mlrun_tensor/00_handle.js";
import { zeros } from "ext:mlrun_tensor/00_make.js";
import * as F from "ext:mlrun_tensor/02_functional.js";
import { count, Dropout, LayerNorm, Linear, uniform } from "ext:mlrun_tensor/02_layers.js";
import { located, Module, Parameter, parameterOrNull } from "ext:mlrun_tensor/02_module.js";

const show = (t) => `[${t.shape.join(", ")}]`;

/** A mask as numbers to add to scores: true, hidden, is -infinity. */
function additive(op, name, mask, dtype) {
  if (mask === undefined || mask === null) return null;
  tensorArg(op, name, mask);
  if (mask.dtype === "bool") return zeros(mask.shape, { dtype }).maskedFill(mask, -Infinity);
  return mask;
}

/** The causal mask of `n` steps: -infinity above the diagonal. */
function causal(n, dtype) {
  return zeros([n, n], { dtype }).add(-Infinity).triu(1);
}

/** Attention of several heads over projections of query, key and value. */
export class MultiheadAttention extends Module {
  static snakeNames = /^(in|q|k|v|out)Proj(Weight|Bias)?$/;
  constructor(embedDim, numHeads, given) {
    super();
    const op = "nn.MultiheadAttention";
    const o = options(op, given, ["dropout", "bias", "batchFirst", "kdim", "vdim"]);
    this.embedDim = count(op, "embedDim", embedDim);
    this.numHeads = count(op, "numHeads", numHeads);
    if (embedDim % numHeads !== 0) throw new RangeError(`${op}: numHeads ${numHeads} must divide embedDim ${embedDim}`);
    this.dropout = o.dropout ?? 0;
    this.batchFirst = !!o.batchFirst;
    const kdim = o.kdim ?? embedDim, vdim = o.vdim ?? embedDim, bias = o.bias ?? true;
    const xavier = (rows, columns) => new Parameter(uniform([rows, columns], Math.sqrt(6 / (rows + columns))));
    if (kdim === embedDim && vdim === embedDim) {
      this.inProjWeight = xavier(3 * embedDim, embedDim);
    } else {
      this.qProjWeight = xavier(embedDim, embedDim);
      this.kProjWeight = xavier(embedDim, count(op, "kdim", kdim));
      this.vProjWeight = xavier(embedDim, count(op, "vdim", vdim));
    }
    this.inProjBias = parameterOrNull(bias, () => zeros([3 * embedDim]));
    this.outProj = new Linear(embedDim, embedDim, { bias });
    if (bias) this.outProj.bias.detach().zero_();
  }

  /** `[output, weights]`; weights are null where `needWeights` is false, which is faster. */
  forward(query, key, value, given) {
    try {
      return attend(this, query, key, value, given);
    } catch (e) {
      throw located(this, e);
    }
  }
  extraRepr() {
    const rest = `${this.dropout === 0 ? "" : `, dropout=${this.dropout}`}${this.batchFirst ? ", batchFirst=true" : ""}`;
    return `embedDim=${this.embedDim}, numHeads=${this.numHeads}${rest}`;
  }
}

function attend(layer, query, key, value, given) {
  const op = "nn.MultiheadAttention";
  const known = ["keyPaddingMask", "needWeights", "attnMask", "averageAttnWeights", "isCausal"];
  const o = options(op, given, known);
  const { embedDim, numHeads: heads } = layer, width = embedDim / heads;
  const batched = checkInputs(op, layer, query, key, value);
  const [q, k, v] = project(layer, batched, query, key, value);
  const [n, length] = q.shape, source = k.shape[1];
  const split = (t, steps) => t.reshape([n, steps, heads, width]).transpose(1, 2);
  const mask = fullMask(op, o, n, heads, length, source, q.dtype);
  const dropout = layer.training ? layer.dropout : 0;
  const [qh, kh, vh] = [split(q, length), split(k, source), split(v, source)];
  let weights = null, mixed;
  if (o.needWeights ?? true) {
    let scores = qh.div(Math.sqrt(width)).matmul(kh.transpose(-2, -1));
    if (mask !== null) scores = scores.add(mask);
    weights = F.softmax(scores, -1);
    if (dropout > 0) weights = F.dropout(weights, dropout);
    mixed = weights.matmul(vh);
    if (o.averageAttnWeights ?? true) weights = weights.mean(1);
    if (!batched) weights = weights.squeeze(0);
  } else {
    const settings = mask === null ? { dropoutP: dropout } : { attnMask: mask, dropoutP: dropout };
    mixed = F.scaledDotProductAttention(qh, kh, vh, settings);
  }
  let output = layer.outProj.forward(mixed.transpose(1, 2).reshape([n, length, embedDim]));
  if (!batched) output = output.squeeze(0);
  else if (!layer.batchFirst) output = output.transpose(0, 1);
  return [output, weights];
}

/** True where the inputs have a batch dimension. */
function checkInputs(op, { embedDim }, query, key, value) {
  for (const [name, t] of [["query", query], ["key", key], ["value", value]]) {
    tensorArg(op, name, t);
    if (t.ndim !== query.ndim || t.ndim < 2 || t.ndim > 3) {
      throw new RangeError(`${op}: got query ${show(query)} and ${name} ${show(t)}, expected two or three dimensions in all`);
    }
  }
  if (query.shape.at(-1) !== embedDim) {
    throw new RangeError(`${op}: got query ${show(query)}, expected ${embedDim} in the last dimension`);
  }
  return query.ndim === 3;
}

/** An input as `[batch, length, features]`. */
function batchFirst(layer, batched, t) {
  if (!batched) return t.unsqueeze(0);
  return layer.batchFirst ? t : t.transpose(0, 1);
}

function project(layer, batched, query, key, value) {
  const { inProjWeight, inProjBias, embedDim } = layer;
  const q = batchFirst(layer, batched, query);
  if (inProjWeight && query === key && key === value) return F.linear(q, inProjWeight, inProjBias).chunk(3, -1);
  const k = batchFirst(layer, batched, key), v = batchFirst(layer, batched, value);
  const weights = inProjWeight ? inProjWeight.chunk(3, 0) : [layer.qProjWeight, layer.kProjWeight, layer.vProjWeight];
  const biases = inProjBias === null ? [null, null, null] : inProjBias.split(embedDim, 0);
  return [F.linear(q, weights[0], biases[0]), F.linear(k, weights[1], biases[1]), F.linear(v, weights[2], biases[2])];
}

/** All masks as one, to be added to scores `[batch, heads, length, source]`; null without any. */
function fullMask(op, o, n, heads, length, source, dtype) {
  let mask = additive(op, "attnMask", o.attnMask, dtype);
  if (mask === null && o.isCausal) mask = causal(length, dtype);
  if (mask !== null && mask.ndim === 3) {
    if (mask.shape[0] !== n * heads) {
      throw new RangeError(`${op}: got attnMask ${show(mask)}, expected [${n * heads}, ${length}, ${source}]`);
    }
    mask = mask.reshape([n, heads, length, source]);
  }
  const padding = additive(op, "keyPaddingMask", o.keyPaddingMask, dtype);
  if (padding === null) return mask;
  const wide = padding.reshape([n, 1, 1, source]);
  return mask === null ? wide.expand([n, 1, length, source]) : mask.add(wide);
}

const ACTIVATIONS = { relu: (x) => x.relu(), gelu: (x) => x.gelu() };

/** Self-attention and a feed-forward network, each with a residual and layer norm. */
export class TransformerEncoderLayer extends Module {
  static snakeNames = /^selfAttn$/;
  constructor(dModel, nhead, given) {
    super();
    const op = "nn.TransformerEncoderLayer";
    const known = ["dimFeedforward", "dropout", "activation", "layerNormEps", "batchFirst", "normFirst", "bias"];
    const o = options(op, given, known);
    const { dimFeedforward = 2048, dropout = 0.1, activation = "relu", layerNormEps: eps = 1e-5, batchFirst = false, bias = true } = o;
    if (typeof activation !== "function" && !Object.hasOwn(ACTIVATIONS, activation)) {
      throw new TypeError(`${op}: unknown activation ${activation}, expected relu, gelu or a function`);
    }
    this.activation = activation;
    this.normFirst = !!o.normFirst;
    this.selfAttn = new MultiheadAttention(dModel, nhead, { dropout, bias, batchFirst });
    this.linear1 = new Linear(dModel, dimFeedforward, { bias });
    this.dropout = new Dropout(dropout);
    this.linear2 = new Linear(dimFeedforward, dModel, { bias });
    this.norm1 = new LayerNorm(dModel, { eps, bias });
    this.norm2 = new LayerNorm(dModel, { eps, bias });
    this.dropout1 = new Dropout(dropout);
    this.dropout2 = new Dropout(dropout);
  }
  forward(src, given) {
    const { srcMask, srcKeyPaddingMask, isCausal } = options("nn.TransformerEncoderLayer", given, ["srcMask", "srcKeyPaddingMask", "isCausal"]);
    const masks = { attnMask: srcMask, keyPaddingMask: srcKeyPaddingMask, isCausal, needWeights: false };
    if (this.normFirst) {
      const x = src.add(this.attention(this.norm1.forward(src), masks));
      return x.add(this.feedForward(this.norm2.forward(x)));
    }
    const x = this.norm1.forward(src.add(this.attention(src, masks)));
    return this.norm2.forward(x.add(this.feedForward(x)));
  }
  attention(x, masks) {
    const [y] = this.selfAttn.forward(x, x, x, masks);
    return this.dropout1.forward(y);
  }
  feedForward(x) {
    const act = typeof this.activation === "function" ? this.activation : ACTIVATIONS[this.activation];
    const hidden = act(this.linear1.forward(x));
    if (!isTensor(hidden)) {
      throw new TypeError(`nn.TransformerEncoderLayer: activation gave ${describe(hidden)}, expected a tensor`);
    }
    return this.dropout2.forward(this.linear2.forward(this.dropout.forward(hidden)));
  }
}
