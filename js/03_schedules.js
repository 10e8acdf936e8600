// optim.lr: schedules of the learning rate. Each takes the optimizer's rates at its making as the
// base, sets them at once for step 0, and goes on by one with each `step()`.
//
// Invariant: a rate depends on the base and the number of steps alone, so that a schedule that was
// saved goes on with the same numbers.

import { describe, integer, options } from "ext:mlrun_tensor/00_handle.js";

function numberArg(op, name, v) {
  if (typeof v !== "number" || Number.isNaN(v)) throw new TypeError(`${op}: ${name} must be a number, got ${describe(v)}`);
  return v;
}
function countArg(op, name, v) {
  if (integer(op, name, v) < 1) throw new RangeError(`${op}: ${name} must be at least 1, got ${v}`);
  return v;
}

export class Schedule {
  constructor(op, optimizer) {
    if (!Array.isArray(optimizer?.paramGroups)) throw new TypeError(`${op}: expected an optimizer, got ${describe(optimizer)}`);
    this.optimizer = optimizer;
    for (const g of optimizer.paramGroups) g.initialLr ??= g.lr;
    this.baseLrs = optimizer.paramGroups.map((g) => g.initialLr);
    this.lastEpoch = 0;
  }
  /** Sets the rates for the present step. */
  apply() {
    this.optimizer.paramGroups.forEach((g, i) => {
      g.lr = this.rate(this.baseLrs[i], this.lastEpoch, i);
    });
  }
  /** Goes to the next step, or to step `epoch`. */
  step(epoch) {
    this.lastEpoch = epoch === undefined ? this.lastEpoch + 1 : integer("step", "epoch", epoch);
    this.apply();
  }
  getLastLr() {
    return this.optimizer.paramGroups.map((g) => g.lr);
  }
  stateDict() {
    const { optimizer, ...rest } = this;
    const out = {};
    for (const [key, v] of Object.entries(rest)) if (typeof v !== "function") out[key] = Array.isArray(v) ? [...v] : v;
    return out;
  }
  loadStateDict(saved) {
    if (saved === null || typeof saved !== "object") throw new TypeError(`loadStateDict: expected a schedule's state, got ${describe(saved)}`);
    for (const key of Object.keys(this.stateDict())) if (key in saved) this[key] = Array.isArray(saved[key]) ? [...saved[key]] : saved[key];
  }
}

/** Times `gamma` every `stepSize` steps. */
export class StepLR extends Schedule {
  constructor(optimizer, stepSize, given) {
    super("optim.lr.StepLR", optimizer);
    this.stepSize = countArg("optim.lr.StepLR", "stepSize", stepSize);
    this.gamma = numberArg("optim.lr.StepLR", "gamma", options("optim.lr.StepLR", given, ["gamma"]).gamma ?? 0.1);
    this.apply();
  }
  rate(base, t) {
    return base * this.gamma ** Math.floor(t / this.stepSize);
  }
}

/** Times `gamma` at each of the `milestones`. */
export class MultiStepLR extends Schedule {
  constructor(optimizer, milestones, given) {
    super("optim.lr.MultiStepLR", optimizer);
    this.milestones = [...milestones].map((m) => integer("optim.lr.MultiStepLR", "milestones", m)).sort((a, b) => a - b);
    this.gamma = numberArg("optim.lr.MultiStepLR", "gamma", options("optim.lr.MultiStepLR", given, ["gamma"]).gamma ?? 0.1);
    this.apply();
  }
  rate(base, t) {
    return base * this.gamma ** this.milestones.filter((m) => m <= t).length;
  }
}

/** Times `gamma` at every step. */
export class ExponentialLR extends Schedule {
  constructor(optimizer, gamma) {
    super("optim.lr.ExponentialLR", optimizer);
    this.gamma = numberArg("optim.lr.ExponentialLR", "gamma", gamma);
    this.apply();
  }
  rate(base, t) {
    return base * this.gamma ** t;
  }
}

/** From `startFactor` to `endFactor` of the base over `totalIters` steps: a warm-up. */
export class LinearLR extends Schedule {
  constructor(optimizer, given) {
    const op = "optim.lr.LinearLR";
    super(op, optimizer);
    const { startFactor = 1 / 3, endFactor = 1, totalIters = 5 } = options(op, given, ["startFactor", "endFactor", "totalIters"]);
    this.startFactor = numberArg(op, "startFactor", startFactor);
    this.endFactor = numberArg(op, "endFactor", endFactor);
    this.totalIters = countArg(op, "totalIters", totalIters);
    this.apply();
  }
  rate(base, t) {
    return base * (this.startFactor + (this.endFactor - this.startFactor) * Math.min(t, this.totalIters) / this.totalIters);
  }
}

/** `factor` of the base for `totalIters` steps, then the base. */
export class ConstantLR extends Schedule {
  constructor(optimizer, given) {
    const op = "optim.lr.ConstantLR";
    super(op, optimizer);
    const { factor = 1 / 3, totalIters = 5 } = options(op, given, ["factor", "totalIters"]);
    this.factor = numberArg(op, "factor", factor);
    this.totalIters = countArg(op, "totalIters", totalIters);
    this.apply();
  }
  rate(base, t) {
    return t < this.totalIters ? base * this.factor : base;
  }
}

/** Half a cosine from the base to `etaMin` over `tMax` steps (Loshchilov and Hutter 2017). */
export class CosineAnnealingLR extends Schedule {
  constructor(optimizer, tMax, given) {
    const op = "optim.lr.CosineAnnealingLR";
    super(op, optimizer);
    this.tMax = countArg(op, "tMax", tMax);
    this.etaMin = numberArg(op, "etaMin", options(op, given, ["etaMin"]).etaMin ?? 0);
    this.apply();
  }
  rate(base, t) {
    return this.etaMin + (base - this.etaMin) * (1 + Math.cos(Math.PI * t / this.tMax)) / 2;
  }
}

/** Cosines that start again after `t0` steps, each `tMult` times as long as the one before. */
export class CosineAnnealingWarmRestarts extends Schedule {
  constructor(optimizer, t0, given) {
    const op = "optim.lr.CosineAnnealingWarmRestarts";
    super(op, optimizer);
    const { tMult = 1, etaMin = 0 } = options(op, given, ["tMult", "etaMin"]);
    this.t0 = countArg(op, "t0", t0);
    this.tMult = countArg(op, "tMult", tMult);
    this.etaMin = numberArg(op, "etaMin", etaMin);
    this.apply();
  }
  rate(base, t) {
    let at = t, length = this.t0;
    while (at >= length && (this.tMult > 1 || length > 0)) {
      if (this.tMult === 1) {
        at %= length;
        break;
      }
      at -= length;
      length *= this.tMult;
    }
    return this.etaMin + (base - this.etaMin) * (1 + Math.cos(Math.PI * at / length)) / 2;
  }
}

/** The base times what a function of the step gives; one function per group, or one for all. */
export class LambdaLR extends Schedule {
  constructor(optimizer, lrLambda) {
    super("optim.lr.LambdaLR", optimizer);
    const all = Array.isArray(lrLambda) ? lrLambda : optimizer.paramGroups.map(() => lrLambda);
    if (all.length !== optimizer.paramGroups.length || !all.every((f) => typeof f === "function")) {
      throw new TypeError(`optim.lr.LambdaLR: expected a function, or one for each of ${optimizer.paramGroups.length} groups, got ${describe(lrLambda)}`);
    }
    Object.defineProperty(this, "lambdas", { value: all });
    this.apply();
  }
  rate(base, t, group) {
    return base * numberArg("optim.lr.LambdaLR", "the function's result", this.lambdas[group](t));
  }
}

/**
 * Up to `maxLr` and down to almost nothing over all steps, momentum the other way (Smith and
 * Topin 2018).
 */
export class OneCycleLR extends Schedule {
  constructor(optimizer, maxLr, given) {
    const op = "optim.lr.OneCycleLR";
    super(op, optimizer);
    const known = ["totalSteps", "epochs", "stepsPerEpoch", "pctStart", "annealStrategy", "cycleMomentum", "baseMomentum",
      "maxMomentum", "divFactor", "finalDivFactor", "threePhase"];
    const o = options(op, given, known);
    const total = o.totalSteps ?? (o.epochs ?? NaN) * (o.stepsPerEpoch ?? NaN);
    if (Number.isNaN(total)) throw new TypeError(`${op}: expected totalSteps, or epochs and stepsPerEpoch`);
    this.totalSteps = countArg(op, "totalSteps", total);
    this.annealStrategy = o.annealStrategy ?? "cos";
    if (!["cos", "linear"].includes(this.annealStrategy)) {
      throw new TypeError(`${op}: unknown annealStrategy "${this.annealStrategy}", expected cos or linear`);
    }
    this.pctStart = numberArg(op, "pctStart", o.pctStart ?? 0.3);
    this.threePhase = o.threePhase ?? false;
    this.maxLrs = optimizer.paramGroups.map((_, i) => numberArg(op, "maxLr", Array.isArray(maxLr) ? maxLr[i] : maxLr));
    this.divFactor = numberArg(op, "divFactor", o.divFactor ?? 25);
    this.finalDivFactor = numberArg(op, "finalDivFactor", o.finalDivFactor ?? 1e4);
    this.cycleMomentum = o.cycleMomentum ?? true;
    if (this.cycleMomentum && !optimizer.paramGroups.every((g) => "betas" in g || g.momentum > 0)) {
      throw new RangeError(`${op}: the optimizer has no momentum to change, pass { cycleMomentum: false }`);
    }
    this.baseMomentum = numberArg(op, "baseMomentum", o.baseMomentum ?? 0.85);
    this.maxMomentum = numberArg(op, "maxMomentum", o.maxMomentum ?? 0.95);
    this.apply();
  }
  /** Value at step `t` of a curve through `low`, `high`, `low` (three phases), `end`. */
  value(t, low, high, end) {
    const { pctStart, totalSteps: n } = this;
    const phases = this.threePhase
      ? [[pctStart * n - 1, low, high], [2 * pctStart * n - 2, high, low], [n - 1, low, end]]
      : [[pctStart * n - 1, low, high], [n - 1, high, end]];
    let from = 0;
    for (const [to, a, b] of phases) {
      if (t <= to || to === n - 1) {
        const part = (t - from) / (to - from);
        return this.annealStrategy === "cos" ? b + (a - b) / 2 * (1 + Math.cos(Math.PI * part)) : a + (b - a) * part;
      }
      from = to;
    }
    return end;
  }
  step(epoch) {
    // As PyTorch: the step after the last batch may be taken.
    if (epoch === undefined && this.lastEpoch >= this.totalSteps) {
      throw new RangeError(`optim.lr.OneCycleLR: step ${this.lastEpoch + 1} is past the cycle of ${this.totalSteps} steps`);
    }
    super.step(epoch);
  }
  apply() {
    this.optimizer.paramGroups.forEach((g, i) => {
      const max = this.maxLrs[i], first = max / this.divFactor;
      g.lr = this.value(this.lastEpoch, first, max, first / this.finalDivFactor);
      if (!this.cycleMomentum) return;
      const momentum = this.value(this.lastEpoch, this.maxMomentum, this.baseMomentum, this.maxMomentum);
      if ("betas" in g) g.betas = [momentum, g.betas[1]];
      else g.momentum = momentum;
    });
  }
}

/** Times `factor` when a metric has not become better for `patience` calls of `step(metric)`. */
export class ReduceLROnPlateau {
  constructor(optimizer, given) {
    const op = "optim.lr.ReduceLROnPlateau";
    if (!Array.isArray(optimizer?.paramGroups)) throw new TypeError(`${op}: expected an optimizer, got ${describe(optimizer)}`);
    const known = ["mode", "factor", "patience", "threshold", "thresholdMode", "cooldown", "minLr", "eps"];
    const o = options(op, given, known);
    const { mode = "min", factor = 0.1, patience = 10, threshold = 1e-4, thresholdMode = "rel", cooldown = 0, minLr = 0, eps = 1e-8 } = o;
    if (mode !== "min" && mode !== "max") throw new TypeError(`${op}: unknown mode "${mode}", expected min or max`);
    if (thresholdMode !== "rel" && thresholdMode !== "abs") {
      throw new TypeError(`${op}: unknown thresholdMode "${thresholdMode}", expected rel or abs`);
    }
    if (!(numberArg(op, "factor", factor) < 1)) throw new RangeError(`${op}: factor must be below 1, got ${factor}`);
    Object.assign(this, { optimizer, mode, factor, patience, threshold, thresholdMode, cooldown, minLr, eps });
    Object.assign(this, { best: mode === "min" ? Infinity : -Infinity, numBadEpochs: 0, cooldownCounter: 0, lastEpoch: 0 });
  }
  better(metric) {
    const { mode, best, threshold } = this;
    if (this.thresholdMode === "rel") return mode === "min" ? metric < best * (1 - threshold) : metric > best * (1 + threshold);
    return mode === "min" ? metric < best - threshold : metric > best + threshold;
  }
  step(metric) {
    const value = Number(metric);
    if (Number.isNaN(value) && typeof metric !== "number") {
      throw new TypeError(`optim.lr.ReduceLROnPlateau: step expects a number, got ${describe(metric)}`);
    }
    this.lastEpoch++;
    if (this.better(value)) {
      this.best = value;
      this.numBadEpochs = 0;
    } else {
      this.numBadEpochs++;
    }
    if (this.cooldownCounter > 0) {
      this.cooldownCounter--;
      this.numBadEpochs = 0;
    }
    if (this.numBadEpochs <= this.patience) return;
    this.optimizer.paramGroups.forEach((g, i) => {
      const next = Math.max(g.lr * this.factor, Array.isArray(this.minLr) ? this.minLr[i] : this.minLr);
      if (g.lr - next > this.eps) g.lr = next;
    });
    this.cooldownCounter = this.cooldown;
    this.numBadEpochs = 0;
  }
  getLastLr() {
    return this.optimizer.paramGroups.map((g) => g.lr);
  }
  stateDict() {
    const { optimizer, ...rest } = this;
    return rest;
  }
  loadStateDict(saved) {
    const { optimizer, ...rest } = saved ?? {};
    Object.assign(this, rest);
  }
}

/** One schedule after another: `schedulers[i]` up to step `milestones[i]`. */
export class SequentialLR {
  constructor(optimizer, schedulers, milestones) {
    const op = "optim.lr.SequentialLR";
    if (!Array.isArray(schedulers) || schedulers.length === 0 || !Array.isArray(milestones) || milestones.length !== schedulers.length - 1) {
      throw new TypeError(`${op}: expected schedules and one milestone less, got ${schedulers?.length} and ${milestones?.length}`);
    }
    for (const s of schedulers) if (s.optimizer !== optimizer) throw new TypeError(`${op}: all schedules must have the same optimizer`);
    Object.assign(this, { optimizer, schedulers, milestones: [...milestones], lastEpoch: 0 });
    // The making of the others has changed the rates.
    schedulers[0].apply();
  }
  step() {
    this.lastEpoch++;
    const at = this.milestones.filter((m) => m <= this.lastEpoch).length;
    if (at > 0 && this.milestones[at - 1] === this.lastEpoch) this.schedulers[at].step(0);
    else this.schedulers[at].step();
  }
  getLastLr() {
    return this.optimizer.paramGroups.map((g) => g.lr);
  }
  stateDict() {
    return { lastEpoch: this.lastEpoch, milestones: [...this.milestones], schedulers: this.schedulers.map((s) => s.stateDict()) };
  }
  loadStateDict(saved) {
    if (saved?.schedulers?.length !== this.schedulers.length) {
      throw new RangeError(`optim.lr.SequentialLR: got the state of ${saved?.schedulers?.length} schedules, expected ${this.schedulers.length}`);
    }
    this.lastEpoch = saved.lastEpoch;
    this.milestones = [...saved.milestones];
    saved.schedulers.forEach((s, i) => this.schedulers[i].loadStateDict(s));
  }
}
