// Optimizers: one fused op per step over all parameters of a group that have taken as many steps.
//
// State of a parameter is a plain object by PyTorch's names in camelCase; groups are plain objects
// of settings and `params`, which schedules and programs may change between steps.

import { callNone, describe, flag, isTensor, keep, numberError, options, tensorArg } from "ext:mlrun_tensor/00_handle.js";
import { shownBy } from "ext:mlrun_tensor/00_format.js";
import { full, zerosLike } from "ext:mlrun_tensor/00_make.js";
import { noGrad } from "ext:mlrun_tensor/01_autograd.js";
import { Module } from "ext:mlrun_tensor/02_module.js";
import * as lr from "ext:mlrun_tensor/03_schedules.js";

export { lr };

/** Tensors that one native call takes, well below what its buffer holds. */
const CALL = 3500;

/** A number setting, checked under its name. */
function numberOption(op, name, value, low = 0, high = Infinity) {
  if (typeof value !== "number" || !(value >= low) || value > high) {
    const range = high === Infinity ? `of at least ${low}` : `from ${low} to ${high}`;
    throw numberError(value, `${op}: ${name} must be a number ${range}, got ${describe(value)}`);
  }
  return value;
}

const listOf = (values) => (values !== null && typeof values === "object" && !isTensor(values) && values[Symbol.iterator] ? [...values] : []);

/** What stands where parameters should, and what to do about it. */
function misused(value) {
  if (isTensor(value)) return "a tensor, put it into an array";
  if (value instanceof Module) return `the module ${describe(value)}, pass its parameters()`;
  return Array.isArray(value) ? "an empty array" : describe(value);
}

/** Groups as the user gave them: tensors, or objects with `params` and settings of their own. */
function groupsOf(op, parameters) {
  const list = listOf(parameters);
  if (list.length === 0) {
    throw new TypeError(`${op}: expected parameters, got ${misused(parameters)}`);
  }
  const grouped = list.filter((g) => !isTensor(g) && g !== null && typeof g === "object" && "params" in g);
  if (grouped.length === 0) return [{ params: list }];
  if (grouped.length < list.length) throw new TypeError(`${op}: expected either tensors or groups { params, ... }, got both`);
  return list.map((g) => ({ ...g, params: isTensor(g.params) ? [g.params] : listOf(g.params) }));
}

/** Base of the optimizers. */
export class Optimizer {
  #op;
  #check;
  /** Settings by group, each with its `params`. */
  paramGroups = [];
  /** State by parameter. */
  state = new Map();

  /** `check` gives an error for a bad setting of a group; `defaults` lists all settings. */
  constructor(op, parameters, given, defaults, check) {
    this.#op = op;
    this.#check = check;
    this.defaults = { ...defaults, ...options(op, given, Object.keys(defaults)) };
    for (const group of groupsOf(op, parameters)) this.addParamGroup(group);
  }

  /** One more group: `{ params, lr, ... }`; what it does not set is as for the others. */
  addParamGroup(given) {
    const op = this.#op;
    const { params, ...rest } = given;
    options(op, rest, [...Object.keys(this.defaults), "initialLr"]);
    const list = isTensor(params) ? [params] : listOf(params);
    list.forEach((p, i) => tensorArg(op, `parameter ${i}`, p));
    const known = new Set(this.paramGroups.flatMap((g) => g.params));
    for (const p of list) {
      if (known.has(p)) throw new RangeError(`${op}: got one parameter [${p.shape.join(", ")}] twice, expected each once`);
      if (!p.isLeaf) throw new TypeError(`${op}: cannot train a tensor that was computed from others, expected a leaf`);
      known.add(p);
    }
    const group = { ...this.defaults, ...rest, params: list };
    this.#check?.(op, group);
    this.paramGroups.push(group);
  }

  /** The learning rate of the first group; setting it sets that of all. */
  get lr() {
    return this.paramGroups[0].lr;
  }
  set lr(value) {
    numberOption(this.#op, "lr", value);
    for (const g of this.paramGroups) g.lr = value;
  }

  /** Forgets all gradients. */
  zeroGrad() {
    for (const { params } of this.paramGroups) for (const p of params) p.grad = null;
  }

  /** Updates all parameters that have a gradient. With `closure`, calls it first and gives its result. */
  step(closure) {
    if (closure !== undefined && closure !== null && typeof closure !== "function") {
      throw new TypeError(`${this.#op}.step: closure must be a function, got ${describe(closure)}`);
    }
    const result = closure ? closure() : undefined;
    noGrad(() => {
      for (const group of this.paramGroups) this.#stepGroup(group);
    });
    return result;
  }

  #stepGroup(group) {
    // Neighbours that have taken as many steps go into one call.
    let tensors = [], step = 0;
    for (const p of group.params) {
      const g = p.grad;
      if (g === null) continue;
      const s = this.stateFor(p, group);
      s.step++;
      if (tensors.length > 0 && (s.step !== step || tensors.length > CALL)) {
        this.update(tensors, group, step);
        tensors = [];
      }
      step = s.step;
      tensors.push(p, g);
      for (const own of this.tensorsOf(s, group)) tensors.push(own);
    }
    if (tensors.length > 0) this.update(tensors, group, step);
  }

  stateFor(p, group) {
    let s = this.state.get(p);
    if (s === undefined) {
      s = { step: 0, ...this.firstState(p, group) };
      this.state.set(p, s);
    }
    return s;
  }
  firstState() {
    return {};
  }
  tensorsOf() {
    return [];
  }

  /**
   * All that a later run needs to go on: `{ state, paramGroups }`, parameters by number. The
   * tensors are the optimizer's own; save them before the next step.
   */
  stateDict() {
    const numbers = new Map(this.paramGroups.flatMap((g) => g.params).map((p, i) => [p, i]));
    const state = {};
    for (const [p, s] of this.state) state[numbers.get(p)] = { ...s };
    const paramGroups = this.paramGroups.map((g) => ({ ...g, params: g.params.map((p) => numbers.get(p)) }));
    return { state, paramGroups };
  }

  /** Continues with what `stateDict` gave, for as many groups of as many parameters. */
  loadStateDict(saved) {
    const op = `${this.#op}.loadStateDict`;
    if (saved === null || typeof saved !== "object" || !Array.isArray(saved.paramGroups)) {
      throw new TypeError(`${op}: expected { state, paramGroups }, got ${describe(saved)}`);
    }
    const sizes = (groups) => groups.map((g) => g.params.length).join(", ");
    if (sizes(saved.paramGroups) !== sizes(this.paramGroups)) {
      throw new RangeError(`${op}: got groups of ${sizes(saved.paramGroups)} parameters, expected ${sizes(this.paramGroups)}`);
    }
    const all = this.paramGroups.flatMap((g) => g.params);
    const numbers = saved.paramGroups.flatMap((g) => g.params);
    const state = new Map();
    numbers.forEach((n, i) => {
      const own = saved.state?.[n];
      if (own !== undefined) state.set(all[i], copied(op, own, all[i], i));
    });
    this.state = state;
    saved.paramGroups.forEach((g, i) => Object.assign(this.paramGroups[i], g, { params: this.paramGroups[i].params }));
  }
}

/** Settings by group; of the parameters only how many there are. */
function printed(optimizer) {
  if (!Array.isArray(optimizer.paramGroups)) return "Optimizer {}";
  const lines = optimizer.paramGroups.map(({ params, ...settings }, i) => {
    const all = Object.entries(settings).map(([k, v]) => `${k}=${Array.isArray(v) ? `[${v.join(", ")}]` : v}`);
    return `  (${i}): ${[`${params.length} parameters`, ...all].join(", ")}\n`;
  });
  return `${optimizer.constructor.name}(\n${lines.join("")})`;
}
shownBy(Optimizer.prototype, printed);

function copied(op, saved, p, at) {
  const out = {};
  for (const [key, value] of Object.entries(saved)) {
    if (isTensor(value) && value.ndim > 0 && String(value.shape) !== String(p.shape)) {
      throw new RangeError(`${op}: ${key} of parameter ${at} has shape [${value.shape.join(", ")}], expected [${p.shape.join(", ")}]`);
    }
    // A step may come as a tensor, from a file.
    out[key] = key === "step" ? Number(isTensor(value) ? value.item() : value) : isTensor(value) ? value.detach().clone() : value;
  }
  return out;
}

/** Stochastic gradient descent, with momentum in PyTorch's form (Sutskever et al. 2013). */
export class SGD extends Optimizer {
  constructor(parameters, given) {
    const defaults = { lr: 1e-3, momentum: 0, dampening: 0, weightDecay: 0, nesterov: false };
    super("optim.SGD", parameters, given, defaults, (op, g) => {
      for (const name of ["lr", "momentum", "weightDecay"]) numberOption(op, name, g[name]);
      numberOption(op, "dampening", g.dampening, -Infinity);
      if (flag(op, "nesterov", g.nesterov) && (g.momentum === 0 || g.dampening !== 0)) {
        throw new RangeError(`${op}: nesterov needs a momentum above 0 and no dampening, got ${g.momentum} and ${g.dampening}`);
      }
    });
  }
  tensorsOf(s, group) {
    if (group.momentum === 0) return [];
    return [s.momentumBuffer];
  }
  stateFor(p, group) {
    const s = super.stateFor(p, group);
    if (group.momentum !== 0 && s.momentumBuffer === undefined) {
      s.momentumBuffer = keep(zerosLike(p));
      // The buffer's first value is the gradient, whenever the momentum is switched on.
      s.step = 0;
    }
    return s;
  }
  update(tensors, g, step) {
    const numbers = [g.lr, g.momentum, g.dampening, g.weightDecay, g.nesterov ? 1 : 0, step === 1 ? 1 : 0];
    callNone("sgdStep", tensors, numbers);
  }
}

class AdamBase extends Optimizer {
  #decoupled;
  constructor(op, parameters, given, decay, decoupled) {
    super(op, parameters, given, { lr: 1e-3, betas: [0.9, 0.999], eps: 1e-8, weightDecay: decay }, (name, g) => {
      for (const key of ["lr", "eps", "weightDecay"]) numberOption(name, key, g[key]);
      betasOption(name, g);
    });
    this.#decoupled = decoupled;
  }
  firstState(p) {
    return { expAvg: keep(zerosLike(p)), expAvgSq: keep(zerosLike(p)) };
  }
  tensorsOf(s) {
    return [s.expAvg, s.expAvgSq];
  }
  update(tensors, g, step) {
    const numbers = [g.lr, g.betas[0], g.betas[1], g.eps, g.weightDecay, this.#decoupled ? 1 : 0, step];
    callNone("adamStep", tensors, numbers);
  }
}

function betasOption(op, group) {
  if (!Array.isArray(group.betas) || group.betas.length !== 2) {
    throw new TypeError(`${op}: betas must be an array of two numbers, got ${describe(group.betas)}`);
  }
  group.betas.forEach((b, i) => {
    if (numberOption(op, `betas[${i}]`, b) >= 1) throw new RangeError(`${op}: betas[${i}] must be below 1, got ${b}`);
  });
}

/** Adam (Kingma and Ba 2015) with PyTorch's defaults. */
export class Adam extends AdamBase {
  constructor(parameters, given) {
    super("optim.Adam", parameters, given, 0, false);
  }
}

/** AdamW (Loshchilov and Hutter 2019): weight decay 0.01 apart from the gradient. */
export class AdamW extends AdamBase {
  constructor(parameters, given) {
    super("optim.AdamW", parameters, given, 0.01, true);
  }
}

/** RMSprop (Tieleman and Hinton 2012), with momentum and the centred form (Graves 2013). */
export class RMSprop extends Optimizer {
  constructor(parameters, given) {
    const defaults = { lr: 1e-2, alpha: 0.99, eps: 1e-8, weightDecay: 0, momentum: 0, centered: false };
    super("optim.RMSprop", parameters, given, defaults, (op, g) => {
      for (const key of ["lr", "alpha", "eps", "weightDecay", "momentum"]) numberOption(op, key, g[key]);
      flag(op, "centered", g.centered);
    });
  }
  stateFor(p, group) {
    const s = super.stateFor(p, group);
    s.squareAvg ??= keep(zerosLike(p));
    if (group.centered) s.gradAvg ??= keep(zerosLike(p));
    if (group.momentum !== 0) s.momentumBuffer ??= keep(zerosLike(p));
    return s;
  }
  tensorsOf(s, group) {
    const out = [s.squareAvg];
    if (group.centered) out.push(s.gradAvg);
    if (group.momentum !== 0) out.push(s.momentumBuffer);
    return out;
  }
  update(tensors, g) {
    const numbers = [g.lr, g.alpha, g.eps, g.weightDecay, g.momentum, g.centered ? 1 : 0];
    callNone("rmspropStep", tensors, numbers);
  }
}

/** Adagrad (Duchi, Hazan and Singer 2011). */
export class Adagrad extends Optimizer {
  constructor(parameters, given) {
    const defaults = { lr: 1e-2, lrDecay: 0, weightDecay: 0, initialAccumulatorValue: 0, eps: 1e-10 };
    super("optim.Adagrad", parameters, given, defaults, (op, g) => {
      for (const key of Object.keys(defaults)) numberOption(op, key, g[key]);
    });
  }
  firstState(p, { initialAccumulatorValue }) {
    return { sum: keep(full(p.shape, initialAccumulatorValue, { dtype: p.dtype })) };
  }
  tensorsOf(s) {
    return [s.sum];
  }
  update(tensors, g, step) {
    callNone("adagradStep", tensors, [g.lr / (1 + (step - 1) * g.lrDecay), g.eps, g.weightDecay]);
  }
}

/** Lion (Chen et al. 2023): the sign of a mean of gradients, weight decay apart. */
export class Lion extends Optimizer {
  constructor(parameters, given) {
    super("optim.Lion", parameters, given, { lr: 1e-4, betas: [0.9, 0.99], weightDecay: 0 }, (op, g) => {
      for (const key of ["lr", "weightDecay"]) numberOption(op, key, g[key]);
      betasOption(op, g);
    });
  }
  firstState(p) {
    return { expAvg: keep(zerosLike(p)) };
  }
  tensorsOf(s) {
    return [s.expAvg];
  }
  update(tensors, g) {
    callNone("lionStep", tensors, [g.lr, g.betas[0], g.betas[1], g.weightDecay]);
  }
}

/**
 * Moving averages of parameters: `average = decay * average + (1 - decay) * parameter` at each
 * `step()`. `swap(fn)` runs `fn` with the averages in the parameters' place.
 */
export class EMA {
  constructor(parameters, given) {
    const { decay = 0.999 } = options("optim.EMA", given, ["decay"]);
    this.decay = numberOption("optim.EMA", "decay", decay, 0, 1);
    this.parameters = parameters instanceof Module ? parameters.parameters() : listOf(parameters);
    if (this.parameters.length === 0) throw new TypeError(`optim.EMA: expected parameters, got ${describe(parameters)}`);
    this.parameters.forEach((p, i) => tensorArg("optim.EMA", `parameter ${i}`, p));
    this.averages = this.parameters.map((p) => p.detach().clone());
  }
  step() {
    const { averages, parameters, decay } = this;
    noGrad(() => {
      for (let from = 0; from < parameters.length; from += CALL / 2) {
        const rows = [];
        for (let i = from; i < Math.min(parameters.length, from + CALL / 2); i++) rows.push(averages[i], parameters[i].detach());
        callNone("emaStep", rows, [1 - decay]);
      }
    });
  }
  /** Writes the averages into the parameters, for good. */
  copyTo() {
    noGrad(() => this.parameters.forEach((p, i) => p.copy_(this.averages[i])));
  }
  /** Runs `fn` with the averages as parameters and gives its result; promises are waited for. */
  swap(fn) {
    const kept = this.parameters.map((p) => p.detach().clone());
    const back = () => noGrad(() => this.parameters.forEach((p, i) => p.copy_(kept[i])));
    this.copyTo();
    let result;
    try {
      result = fn();
    } catch (e) {
      back();
      throw e;
    }
    if (typeof result?.then === "function") return Promise.resolve(result).finally(back);
    back();
    return result;
  }
  stateDict() {
    return { decay: this.decay, averages: [...this.averages] };
  }
  loadStateDict(saved) {
    if (!Array.isArray(saved?.averages) || saved.averages.length !== this.averages.length) {
      throw new RangeError(`optim.EMA.loadStateDict: got ${saved?.averages?.length ?? describe(saved)} averages, expected ${this.averages.length}`);
    }
    saved.averages.forEach((t, i) => {
      tensorArg("optim.EMA.loadStateDict", `average ${i}`, t);
      if (String(t.shape) !== String(this.averages[i].shape)) {
        throw new RangeError(`optim.EMA.loadStateDict: average ${i} has shape [${t.shape.join(", ")}], expected [${this.averages[i].shape.join(", ")}]`);
      }
    });
    this.decay = saved.decay;
    noGrad(() => this.averages.forEach((a, i) => a.copy_(saved.averages[i])));
  }
}
