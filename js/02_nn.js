// nn.Module and layers.

import { describe, isTensor, options, tensorArg } from "ext:mlrun_tensor/00_handle.js";
import { rand } from "ext:mlrun_tensor/00_make.js";
import { noGrad } from "ext:mlrun_tensor/01_autograd.js";
import * as functional from "ext:mlrun_tensor/02_functional.js";

const parameters = new WeakSet();

/** A tensor that a module trains: `t` as a leaf that requires a gradient. */
export class Parameter {
  constructor(t, { requiresGrad = true } = {}) {
    tensorArg("nn.Parameter", "data", t);
    const leaf = t.detach();
    if (requiresGrad) leaf.requiresGrad_();
    parameters.add(leaf);
    return leaf;
  }
  static [Symbol.hasInstance](value) {
    return isTensor(value) && parameters.has(value);
  }
}

const isContainer = (v) => Array.isArray(v) || (v !== null && typeof v === "object" && Object.getPrototypeOf(v) === Object.prototype);

/** Calls `visit(path, value, kind)` for parameters, buffers and modules below `module`. */
function walk(module, visit, path = "", seen = new Set()) {
  if (seen.has(module)) return;
  seen.add(module);
  const enter = (value, at) => {
    if (value instanceof Module) {
      visit(at, value, "module");
      walk(value, visit, `${at}.`, seen);
    } else if (isTensor(value)) {
      if (parameters.has(value)) {
        if (!seen.has(value)) visit(at, value, "parameter");
        seen.add(value);
      }
    } else if (isContainer(value)) {
      for (const key of Object.keys(value)) enter(value[key], `${at}.${key}`);
    }
  };
  for (const key of Object.keys(module)) enter(module[key], path + key);
  for (const [name, value] of buffersOf(module)) visit(path + name, value, "buffer");
}

const buffers = new WeakMap();
const buffersOf = (module) => buffers.get(module) ?? new Map();

/** Base of all layers: a class with `forward`, whose fields hold parameters and other modules. */
export class Module {
  training = true;

  /** A tensor that belongs to the state but is not trained; read and written as `this[name]`. */
  registerBuffer(name, t) {
    if (!buffers.has(this)) buffers.set(this, new Map());
    buffers.get(this).set(name, tensorArg("registerBuffer", "tensor", t));
    Object.defineProperty(this, name, {
      configurable: true,
      enumerable: false,
      get: () => buffersOf(this).get(name),
      set: (value) => buffersOf(this).set(name, tensorArg(name, "value", value)),
    });
  }

  forward() {
    throw new TypeError(`${this.constructor.name}: has no forward method`);
  }

  /** Pairs of name and parameter, such as `["layers.0.weight", t]`; a shared one comes once. */
  namedParameters() {
    const out = [];
    walk(this, (path, value, kind) => kind === "parameter" && out.push([path, value]));
    return out;
  }
  parameters() {
    return this.namedParameters().map(([, t]) => t);
  }
  namedModules() {
    const out = [["", this]];
    walk(this, (path, value, kind) => kind === "module" && out.push([path, value]));
    return out;
  }
  modules() {
    return this.namedModules().map(([, m]) => m);
  }

  /** Parameters and buffers by name; the tensors themselves, not copies. */
  stateDict() {
    const out = {};
    walk(this, (path, value, kind) => {
      if (kind !== "module") out[path] = kind === "parameter" ? value.detach() : value;
    });
    return out;
  }
  /** Copies values by name into the parameters and buffers. */
  loadStateDict(state, given) {
    const { strict = true } = options("loadStateDict", given, ["strict"]);
    const own = this.stateDict();
    const missing = Object.keys(own).filter((k) => !(k in state));
    const unexpected = Object.keys(state).filter((k) => !(k in own));
    const wrong = Object.keys(own).filter((k) => k in state && String(own[k].shape) !== String(state[k].shape))
      .map((k) => `${k} [${state[k].shape.join(", ")}], expected [${own[k].shape.join(", ")}]`);
    const problems = [];
    if (strict && missing.length > 0) problems.push(`missing ${missing.join(", ")}`);
    if (strict && unexpected.length > 0) problems.push(`unexpected ${unexpected.join(", ")}`);
    if (wrong.length > 0) problems.push(`wrong shapes: ${wrong.join("; ")}`);
    if (problems.length > 0) throw new Error(`loadStateDict: ${problems.join("; ")}`);
    noGrad(() => {
      for (const key of Object.keys(own)) if (key in state) own[key].copy_(state[key]);
    });
    return { missing, unexpected };
  }

  train(on = true) {
    for (const m of this.modules()) m.training = on;
    return this;
  }
  eval() {
    return this.train(false);
  }
  /** Only the CPU is there; moves nothing. */
  to(device) {
    if (device !== "cpu") throw new TypeError(`Module.to: unknown device ${describe(device)}, expected cpu`);
    return this;
  }
}

/** `y = x W^T + b`; weight and bias uniform in +-1/sqrt(inFeatures), as in PyTorch. */
export class Linear extends Module {
  constructor(inFeatures, outFeatures, given) {
    super();
    const { bias = true } = options("nn.Linear", given, ["bias"]);
    const bound = 1 / Math.sqrt(inFeatures);
    const init = (shape) => new Parameter(rand(shape).mul(2 * bound).sub(bound));
    this.weight = init([outFeatures, inFeatures]);
    this.bias = bias ? init([outFeatures]) : null;
  }
  forward(x) {
    return functional.linear(x, this.weight, this.bias);
  }
}

function activation(name, f) {
  return {
    [name]: class extends Module {
      forward(x) {
        return f(tensorArg(`nn.${name}`, "input", x));
      }
    },
  }[name];
}
export const ReLU = activation("ReLU", (x) => x.relu());
export const Tanh = activation("Tanh", (x) => x.tanh());
export const Sigmoid = activation("Sigmoid", (x) => x.sigmoid());
export const SiLU = activation("SiLU", (x) => x.silu());

export class GELU extends Module {
  constructor(given) {
    super();
    this.approximate = options("nn.GELU", given, ["approximate"]).approximate ?? "none";
  }
  forward(x) {
    return x.gelu({ approximate: this.approximate });
  }
}

/** Modules one behind the other. */
export class Sequential extends Module {
  constructor(...layers) {
    super();
    layers.forEach((layer, i) => {
      if (!(layer instanceof Module)) throw new TypeError(`nn.Sequential: layer ${i} is ${describe(layer)}, expected a module`);
      this[i] = layer;
    });
    Object.defineProperty(this, "length", { value: layers.length });
  }
  forward(x) {
    for (let i = 0; i < this.length; i++) x = this[i].forward(x);
    return x;
  }
  *[Symbol.iterator]() {
    for (let i = 0; i < this.length; i++) yield this[i];
  }
}

export { functional };
