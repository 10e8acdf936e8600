// Recurrent layers: RNN, LSTM, GRU, with PyTorch's parameters, names and gate order.
//
// One layer's products with its input are made for all steps at once; only the products with the
// hidden state go step by step.

import { describe, numberError, options, tensorArg } from "ext:mlrun_tensor/00_handle.js";
import { zeros } from "ext:mlrun_tensor/00_make.js";
import { concat } from "ext:mlrun_tensor/00_direct.js";
import { stack } from "ext:mlrun_tensor/00_shape.js";
import * as F from "ext:mlrun_tensor/02_functional.js";
import { count, uniform } from "ext:mlrun_tensor/02_layers.js";
import { located, Module, Parameter } from "ext:mlrun_tensor/02_module.js";

const show = (t) => `[${t.shape.join(", ")}]`;
const KNOWN = ["numLayers", "bias", "batchFirst", "dropout", "bidirectional"];

class Recurrent extends Module {
  static snakeNames = /^(weight|bias)(Ih|Hh)L\d+(Reverse)?$/;
  constructor(op, gates, inputSize, hiddenSize, given, more = []) {
    super();
    const o = options(op, given, [...KNOWN, ...more]);
    this.inputSize = count(op, "inputSize", inputSize);
    this.hiddenSize = count(op, "hiddenSize", hiddenSize);
    this.numLayers = count(op, "numLayers", o.numLayers ?? 1);
    this.bias = o.bias ?? true;
    this.batchFirst = o.batchFirst ?? false;
    this.dropout = o.dropout ?? 0;
    this.bidirectional = o.bidirectional ?? false;
    if (typeof this.dropout !== "number" || !(this.dropout >= 0 && this.dropout <= 1)) {
      throw numberError(this.dropout, `${op}: dropout must be a number from 0 to 1, got ${describe(this.dropout)}`);
    }
    const bound = 1 / Math.sqrt(hiddenSize), rows = gates * hiddenSize;
    for (let layer = 0; layer < this.numLayers; layer++) {
      for (const end of this.bidirectional ? ["", "Reverse"] : [""]) {
        const width = layer === 0 ? inputSize : hiddenSize * (this.bidirectional ? 2 : 1);
        this[`weightIhL${layer}${end}`] = new Parameter(uniform([rows, width], bound));
        this[`weightHhL${layer}${end}`] = new Parameter(uniform([rows, hiddenSize], bound));
        if (!this.bias) continue;
        this[`biasIhL${layer}${end}`] = new Parameter(uniform([rows], bound));
        this[`biasHhL${layer}${end}`] = new Parameter(uniform([rows], bound));
      }
    }
  }
  extraRepr() {
    const { inputSize, hiddenSize, numLayers, bias, batchFirst, dropout, bidirectional } = this;
    const parts = [inputSize, hiddenSize];
    if (numLayers !== 1) parts.push(`numLayers=${numLayers}`);
    if (!bias) parts.push("bias=false");
    if (batchFirst) parts.push("batchFirst=true");
    if (dropout !== 0) parts.push(`dropout=${dropout}`);
    if (bidirectional) parts.push("bidirectional=true");
    return parts.join(", ");
  }
}

/** The input as `[length, batch, features]`, and whether it had a batch dimension. */
function sequence(op, layer, x) {
  tensorArg(op, "input", x);
  if (x.ndim < 2 || x.ndim > 3 || x.shape.at(-1) !== layer.inputSize) {
    throw new RangeError(`${op}: got input ${show(x)}, expected two or three dimensions with ${layer.inputSize} in the last`);
  }
  if (x.ndim === 2) return [x.unsqueeze(1), false];
  return [layer.batchFirst ? x.transpose(0, 1) : x, true];
}

/** First states of all layers and directions, `[layers * directions, batch, hidden]`. */
function firstState(op, name, layer, given, x, batched) {
  const n = layer.numLayers * (layer.bidirectional ? 2 : 1);
  const shape = [n, x.shape[1], layer.hiddenSize];
  if (given === undefined || given === null) return zeros(shape, { dtype: x.dtype });
  const own = batched ? tensorArg(op, name, given) : tensorArg(op, name, given).unsqueeze(1);
  if (String(own.shape) !== String(shape)) {
    throw new RangeError(`${op}: got ${name} ${show(given)}, expected [${(batched ? shape : [n, shape[2]]).join(", ")}]`);
  }
  return own;
}

/**
 * Runs all layers. `steps(inputs, weight, bias, first)` gives the outputs of one direction in the
 * order it met them and its last state, an array like `first`.
 */
function run(layer, x, states, steps) {
  const ends = layer.bidirectional ? ["", "Reverse"] : [""];
  const hidden = [], cells = [];
  let input = x;
  for (let l = 0; l < layer.numLayers; l++) {
    const sides = [];
    for (let d = 0; d < ends.length; d++) {
      const name = `L${l}${ends[d]}`;
      const inputBias = layer.bias ? layer[`biasIh${name}`] : null, bias = layer.bias ? layer[`biasHh${name}`] : null;
      const projected = F.linear(input, layer[`weightIh${name}`], inputBias);
      const inOrder = d === 1 ? projected.flip(0).unbind(0) : projected.unbind(0);
      const first = [];
      for (const s of states) first.push(s.select(0, l * ends.length + d));
      const [outputs, last] = steps(inOrder, layer[`weightHh${name}`], bias, first);
      const all = stack(outputs, 0);
      sides.push(d === 1 ? all.flip(0) : all);
      hidden.push(last[0]);
      if (last.length > 1) cells.push(last[1]);
    }
    input = sides.length === 1 ? sides[0] : concat(sides, -1);
    if (layer.dropout > 0 && layer.training && l + 1 < layer.numLayers) input = F.dropout(input, layer.dropout);
  }
  const lasts = [stack(hidden, 0)];
  if (cells.length > 0) lasts.push(stack(cells, 0));
  return [input, lasts];
}

function finish(layer, batched, output, lasts) {
  if (!batched) {
    const own = [];
    for (const s of lasts) own.push(s.squeeze(1));
    return [output.squeeze(1), own];
  }
  return [layer.batchFirst ? output.transpose(0, 1) : output, lasts];
}

/** `h' = tanh(x W_ih + b_ih + h W_hh + b_hh)`, or with relu. */
export class RNN extends Recurrent {
  constructor(inputSize, hiddenSize, given) {
    super("nn.RNN", 1, inputSize, hiddenSize, given, ["nonlinearity"]);
    this.nonlinearity = given?.nonlinearity ?? "tanh";
    if (this.nonlinearity !== "tanh" && this.nonlinearity !== "relu") {
      throw new TypeError(`nn.RNN: unknown nonlinearity "${this.nonlinearity}", expected tanh or relu`);
    }
  }
  /** `[output, h]`: outputs of the last layer at each step, and each layer's last state. */
  forward(input, h0) {
    try {
      const [x, batched] = sequence("nn.RNN", this, input);
      const first = firstState("nn.RNN", "h0", this, h0, x, batched);
      const relu = this.nonlinearity === "relu";
      const [output, lasts] = run(this, x, [first], (inputs, weight, bias, [start]) => {
        const outputs = [];
        let h = start;
        for (const xi of inputs) {
          const sum = xi.add(F.linear(h, weight, bias));
          h = relu ? sum.relu() : sum.tanh();
          outputs.push(h);
        }
        return [outputs, [h]];
      });
      const [y, [h]] = finish(this, batched, output, lasts);
      return [y, h];
    } catch (e) {
      throw located(this, e);
    }
  }
}

/** Gates in the order input, forget, cell, output. */
export class LSTM extends Recurrent {
  constructor(inputSize, hiddenSize, given) {
    super("nn.LSTM", 4, inputSize, hiddenSize, given);
  }
  /** `[output, [h, c]]`; the states to start with are `[h0, c0]`. */
  forward(input, state) {
    try {
      const [x, batched] = sequence("nn.LSTM", this, input);
      if (state !== undefined && state !== null && !(Array.isArray(state) && state.length === 2)) {
        throw new TypeError(`nn.LSTM: state must be [h0, c0], got ${describe(state)}`);
      }
      const h0 = firstState("nn.LSTM", "h0", this, state?.[0], x, batched);
      const c0 = firstState("nn.LSTM", "c0", this, state?.[1], x, batched);
      const [output, lasts] = run(this, x, [h0, c0], lstmSteps);
      return finish(this, batched, output, lasts);
    } catch (e) {
      throw located(this, e);
    }
  }
}

function lstmSteps(inputs, weight, bias, [h0, c0]) {
  const outputs = [];
  let h = h0, c = c0;
  for (const xi of inputs) {
    const [i, f, g, o] = xi.add(F.linear(h, weight, bias)).chunk(4, -1);
    c = f.sigmoid().mul(c).add(i.sigmoid().mul(g.tanh()));
    h = o.sigmoid().mul(c.tanh());
    outputs.push(h);
  }
  return [outputs, [h, c]];
}

/** Gates in the order reset, update, new. */
export class GRU extends Recurrent {
  constructor(inputSize, hiddenSize, given) {
    super("nn.GRU", 3, inputSize, hiddenSize, given);
  }
  /** `[output, h]`. */
  forward(input, h0) {
    try {
      const [x, batched] = sequence("nn.GRU", this, input);
      const first = firstState("nn.GRU", "h0", this, h0, x, batched);
      const [output, lasts] = run(this, x, [first], gruSteps);
      const [y, [h]] = finish(this, batched, output, lasts);
      return [y, h];
    } catch (e) {
      throw located(this, e);
    }
  }
}

function gruSteps(inputs, weight, bias, [h0]) {
  const outputs = [];
  let h = h0;
  for (const xi of inputs) {
    const [xr, xz, xn] = xi.chunk(3, -1);
    const [hr, hz, hn] = F.linear(h, weight, bias).chunk(3, -1);
    const z = xz.add(hz).sigmoid();
    const n = xn.add(xr.add(hr).sigmoid().mul(hn)).tanh();
    h = n.add(z.mul(h.sub(n)));
    outputs.push(h);
  }
  return [outputs, [h]];
}
