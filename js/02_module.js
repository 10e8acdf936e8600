// nn.Module: a model is a tree of objects whose fields hold parameters, buffers and modules.
//
// Invariant: nothing is registered; what a model holds is found by walking its fields, in the
// order of PyTorch's state_dict: a module's parameters, its buffers, then its children.
// Not here: layers (02_layers.js and its neighbours), first values (02_init.js).

import {
  borrows, describe, flag, isParameter, isTensor, markParameter, noteModule, ops, options, tensorArg,
} from "ext:mlrun_tensor/00_handle.js";
import { shownBy } from "ext:mlrun_tensor/00_format.js";
import { noGrad } from "ext:mlrun_tensor/01_autograd.js";
import { isContainer, parametersBelow, setWalk } from "ext:mlrun_tensor/02_walk.js";

/** A tensor that a module trains: `t` as a leaf that requires a gradient. */
export class Parameter {
  constructor(t, given) {
    tensorArg("nn.Parameter", "data", t);
    const { requiresGrad = true } = options("nn.Parameter", given, ["requiresGrad"]);
    const leaf = t.detach();
    if (requiresGrad) leaf.requiresGrad_();
    markParameter(leaf);
    return leaf;
  }
  static [Symbol.hasInstance](value) {
    return isTensor(value) && isParameter(value);
  }
}

borrows(Parameter);

/** A parameter, or null where a layer goes without it. */
export const parameterOrNull = (wanted, make) => (wanted ? new Parameter(make()) : null);

const snakeCase = (name) => name.replace(/[A-Z]/g, (c) => `_${c.toLowerCase()}`);

/** The name of a field in the state: PyTorch's own where a layer's class says which differ. */
function stateName(module, key) {
  const own = module.constructor.snakeNames;
  return own instanceof RegExp && own.test(key) ? snakeCase(key) : key;
}

/** Parameters, buffers and modules that stand on `module` itself: lists of `[name, value, place]`. */
function contents(module) {
  const found = { parameters: [], buffers: [], children: [] };
  const seen = new Set();
  const enter = (name, holder, key, buffers) => {
    const value = holder[key];
    if (isTensor(value)) {
      const list = buffers !== null && buffers.has(key) ? found.buffers : isParameter(value) ? found.parameters : null;
      if (list !== null) list.push([name, value, holder, key]);
    } else if (value instanceof Module) {
      found.children.push([name, value, holder, key]);
    } else if (isContainer(value) && !seen.has(value)) {
      seen.add(value);
      for (const k of Object.keys(value)) enter(`${name}.${k}`, value, k, null);
    }
  };
  for (const key of Object.keys(module)) enter(stateName(module, key), module, key, buffersOf(module));
  return found;
}

/**
 * Pairs of path and module for a module and all below it, parents first. Without `again` a module
 * that stands at two places comes once; with it, at each, but never below itself.
 */
function below(module, { again = false } = {}) {
  const open = new Set(), found = [];
  const enter = (path, m) => {
    if (open.has(m)) return;
    open.add(m);
    found.push([path, m]);
    for (const [name, child] of contents(m).children) enter(join(path, name), child);
    if (again) open.delete(m);
  };
  enter("", module);
  return found;
}

/** Pairs of name and tensor of one kind, a shared one once. */
function tensorsBelow(module, kind) {
  const out = [], seen = new Set();
  for (const [path, m] of below(module)) {
    for (const [name, t] of contents(m)[kind]) {
      if (seen.has(t)) continue;
      seen.add(t);
      out.push([join(path, name), t]);
    }
  }
  return out;
}

const join = (path, name) => (path === "" ? name : `${path}.${name}`);

let buffersOf, isModule;

/** Base of all layers: a class with `forward`, whose fields hold parameters and other modules. */
export class Module {
  #buffers = null;
  #volatile = null;
  #hooks = null;
  training = true;

  constructor() {
    noteModule(this);
  }

  static {
    buffersOf = (m) => m.#buffers;
    isModule = (v) => #buffers in v;
    setWalk({ isModule, buffersOf });
  }

  /** A tensor that belongs to the state but is not trained; from then on the field `name`. */
  registerBuffer(name, t, given) {
    const { persistent = true } = options("registerBuffer", given, ["persistent"]);
    if (typeof name !== "string" || name === "" || name.includes(".")) {
      throw new TypeError(`registerBuffer: name must be a text without dots, got ${describe(name)} ${name}`);
    }
    if (t !== null) tensorArg("registerBuffer", "tensor", t);
    this.#buffers ??= new Set();
    this.#buffers.add(name);
    if (!persistent) (this.#volatile ??= new Set()).add(name);
    this[name] = t;
  }

  forward() {
    throw new TypeError(`${this.constructor.name}: has no forward method`);
  }

  /** Pairs of name and parameter, such as `["layers.0.weight", t]`; a shared one comes once. */
  namedParameters() {
    return tensorsBelow(this, "parameters");
  }
  parameters() {
    return parametersBelow(this);
  }
  /** Pairs of name and buffer; a shared one comes once. */
  namedBuffers() {
    return tensorsBelow(this, "buffers");
  }
  buffers() {
    return this.namedBuffers().map(([, t]) => t);
  }
  /** Pairs of path and module: this one under "", then all below it, each once. */
  namedModules() {
    return below(this);
  }
  modules() {
    return this.namedModules().map(([, m]) => m);
  }
  /** Pairs of name and module directly on this one, each once. */
  namedChildren() {
    const seen = new Set();
    return contents(this).children.filter(([, m]) => !seen.has(m) && seen.add(m)).map(([name, m]) => [name, m]);
  }
  children() {
    return this.namedChildren().map(([, m]) => m);
  }
  /** The module at a path such as `"blocks.0.attn"`. */
  getSubmodule(path) {
    const found = this.namedModules().find(([p]) => p === path);
    if (found === undefined) throw new RangeError(`getSubmodule: ${this.constructor.name} has no module "${path}"`);
    return found[1];
  }

  /** Parameters and buffers by PyTorch's names; they share memory with the model. */
  stateDict() {
    const out = {};
    for (const [path, m] of below(this, { again: true })) {
      const { parameters: own, buffers } = contents(m);
      for (const [name, t] of own) out[join(path, name)] = t.detach();
      for (const [name, t, , key] of buffers) if (!m.#volatile?.has(key)) out[join(path, name)] = t.detach();
    }
    return out;
  }

  /**
   * Copies values by name into parameters and buffers. An error lists all that does not fit, and
   * then nothing has changed; with `strict: false` names may be missing or unknown.
   */
  loadStateDict(state, given) {
    const { strict = true } = options("loadStateDict", given, ["strict"]);
    if (state === null || typeof state !== "object" || isTensor(state)) {
      throw new TypeError(`loadStateDict: expected an object of tensors by name, got ${describe(state)}`);
    }
    const own = this.stateDict();
    const wanted = Object.keys(own), got = Object.keys(state);
    const there = new Set(got), known = new Set(wanted);
    const missing = wanted.filter((k) => !there.has(k));
    const unexpected = got.filter((k) => !known.has(k));
    const common = wanted.filter((k) => there.has(k));
    const wrong = [];
    for (const k of common) {
      const problem = misfit(k, own[k], state[k]);
      if (problem !== null) wrong.push(problem);
    }
    const problems = [];
    if (strict && missing.length > 0) problems.push(`missing: ${missing.join(", ")}`);
    if (strict && unexpected.length > 0) problems.push(`unexpected: ${unexpected.join(", ")}`);
    if (wrong.length > 0) problems.push(`wrong shapes: ${wrong.join(", ")}`);
    if (problems.length > 0) {
      throw new RangeError(`loadStateDict: the state does not fit ${this.constructor.name}\n  ${problems.join("\n  ")}`);
    }
    noGrad(() => {
      for (const k of common) own[k].copy_(state[k]);
    });
    return { missing, unexpected };
  }

  /** Training mode for this module and all below it: dropout drops, batch norm measures. */
  train(on = true) {
    for (const [, m] of below(this)) m.training = flag("train", "on", on);
    return this;
  }
  eval() {
    return this.train(false);
  }
  /** Calls `fn` with every module below this one and then with this one. */
  apply(fn) {
    if (typeof fn !== "function") throw new TypeError(`apply: expected a function, got ${describe(fn)}`);
    for (const m of this.modules().reverse()) fn(m);
    return this;
  }
  requiresGrad_(on = true) {
    for (const t of this.parameters()) t.requiresGrad_(on);
    return this;
  }
  zeroGrad() {
    for (const t of this.parameters()) t.grad = null;
  }

  /**
   * Another dtype for all floating-point parameters and buffers. They are new tensors, so call
   * this before you hand `parameters()` to an optimizer.
   */
  to(target) {
    const { dtype, device } = typeof target === "string"
      ? (target === "cpu" ? { device: target } : { dtype: target })
      : options("Module.to", target, ["dtype", "device"]);
    if (device !== undefined && device !== "cpu") {
      throw new TypeError(`Module.to: unknown device ${device}, expected cpu`);
    }
    if (dtype !== undefined) convert(this, dtype);
    return this;
  }

  /**
   * `fn(module, args)` before each forward; an array that it gives stands in for the arguments.
   * The result's `remove()` ends it.
   */
  registerForwardPreHook(fn) {
    return this.#hook("registerForwardPreHook", "before", fn);
  }
  /** `fn(module, args, output)` after each forward; what it gives, unless undefined, is the output. */
  registerForwardHook(fn) {
    return this.#hook("registerForwardHook", "after", fn);
  }
  #hook(op, when, fn) {
    if (typeof fn !== "function") throw new TypeError(`${op}: expected a function, got ${describe(fn)}`);
    this.#hooks ??= hookForward(this);
    const list = this.#hooks[when], entry = { fn };
    list.push(entry);
    return {
      remove: () => {
        const at = list.indexOf(entry);
        if (at >= 0) list.splice(at, 1);
        const hooks = this.#hooks;
        if (hooks !== null && hooks.before.length + hooks.after.length === 0) {
          hooks.restore();
          this.#hooks = null;
        }
      },
    };
  }

  /** What stands in the brackets when the module is printed. */
  extraRepr() {
    return "";
  }
  toString() {
    return printed(this);
  }
}

function misfit(key, own, value) {
  if (!isTensor(value)) return `${key} is ${describe(value)}, no tensor`;
  const [want, got] = [own.shape, value.shape].map((s) => `[${s.join(", ")}]`);
  return want === got ? null : `${key} ${got}, expected ${want}`;
}

const FLOATING = ["float32", "float64", "float16", "bfloat16"];

function convert(module, dtype) {
  if (!FLOATING.includes(dtype)) {
    throw new TypeError(`Module.to: a model's dtype is one of ${FLOATING.join(", ")}, got ${dtype}`);
  }
  const made = new Map();
  for (const [, m] of below(module)) {
    const { parameters: own, buffers } = contents(m);
    for (const [, t, holder, key] of own) {
      if (t.dtype === dtype || !FLOATING.includes(t.dtype)) continue;
      if (!made.has(t)) made.set(t, new Parameter(t.detach().to(dtype), { requiresGrad: t.requiresGrad }));
      holder[key] = made.get(t);
    }
    for (const [, t, holder, key] of buffers) {
      if (t.dtype === dtype || !FLOATING.includes(t.dtype)) continue;
      if (!made.has(t)) made.set(t, t.detach().to(dtype));
      holder[key] = made.get(t);
    }
  }
}

/** Puts a forward that runs hooks before the module's own, only while there are hooks. */
function hookForward(module) {
  const own = Object.getOwnPropertyDescriptor(module, "forward");
  const inner = module.forward;
  const hooks = {
    before: [],
    after: [],
    restore() {
      delete module.forward;
      if (own !== undefined) Object.defineProperty(module, "forward", own);
    },
  };
  const forward = function (...args) {
    for (const { fn } of [...hooks.before]) {
      const changed = fn(module, args);
      if (changed !== undefined) args = Array.isArray(changed) ? changed : [changed];
    }
    let output = inner.apply(module, args);
    for (const { fn } of [...hooks.after]) {
      const changed = fn(module, args, output);
      if (changed !== undefined) output = changed;
    }
    return output;
  };
  Object.defineProperty(module, "forward", { value: forward, configurable: true, enumerable: false, writable: true });
  return hooks;
}

// ---- Printing, in the manner of PyTorch.

shownBy(Module.prototype, printed);

const indented = (text) => text.replaceAll("\n", "\n  ");

function printed(module) {
  // The prototype itself has no fields.
  if (!isModule(module)) return "Module {}";
  const open = new Set();
  const print = (m) => {
    if (open.has(m)) return `${m.constructor.name}(...)`;
    open.add(m);
    const name = m.constructor.name, extra = m.extraRepr();
    const children = contents(m).children.map(([key, child]) => [key, print(child)]);
    open.delete(m);
    if (children.length === 0) return `${name}(${extra})`;
    const lines = (m.constructor.joinsEqual ? runs(children) : children).map(([key, text]) => `\n  (${key}): ${indented(text)}`);
    return `${name}(${extra === "" ? "" : `\n  ${extra}`}${lines.join("")}\n)`;
  };
  return print(module);
}

/** Neighbours that print alike as one entry, `(0-5): 6 x Block(...)`. */
function runs(children) {
  const out = [];
  for (let i = 0, n; i < children.length; i += n) {
    n = 1;
    while (i + n < children.length && children[i + n][1] === children[i][1]) n++;
    const [key, text] = children[i];
    out.push(n === 1 ? [key, text] : [`${key}-${children[i + n - 1][0]}`, `${n} x ${text}`]);
  }
  return out;
}

// ---- Errors that say which layer of the model they come from.

const placed = new WeakSet();

/** The path of a layer in the largest living model that holds it; "" for one that stands alone. */
function pathOf(layer) {
  let best = "", size = -1;
  for (const root of ops.op_tensor_noted_modules()) {
    let path = null, n = 0;
    for (const [p, m] of below(root)) {
      n++;
      if (m === layer) path ??= p;
    }
    if (path !== null && n > size) [best, size] = [path, n];
  }
  return best;
}

/** `error` with the layer's path and description added to its message, once. */
export function located(layer, error) {
  if (!(error instanceof Error) || placed.has(error)) return error;
  placed.add(error);
  const path = pathOf(layer);
  if (path === "") return error;
  const { message, stack } = error;
  error.message = `${message}, in layer ${path}: ${layer.constructor.name}(${layer.extraRepr()})`;
  if (typeof stack === "string") error.stack = stack.replace(message, () => error.message);
  return error;
}
