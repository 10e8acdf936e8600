// Optimizers: one fused op per step over all parameters.

import { callNone, describe, isTensor, options, tensorArg } from "ext:mlrun_tensor/00_handle.js";
import { zerosLike } from "ext:mlrun_tensor/00_make.js";
import { noGrad } from "ext:mlrun_tensor/01_autograd.js";

function parameterList(op, parameters) {
  const list = parameters?.[Symbol.iterator] && !isTensor(parameters) ? [...parameters] : [];
  if (list.length === 0) throw new TypeError(`${op}: expected parameters, got ${describe(parameters)}`);
  list.forEach((p, i) => tensorArg(op, `parameter ${i}`, p));
  return list;
}

function numberOption(op, name, value, low = 0) {
  if (typeof value !== "number" || !(value >= low)) {
    throw new RangeError(`${op}: ${name} must be a number of at least ${low}, got ${describe(value)}`);
  }
  return value;
}

/** Base of the optimizers. */
class Optimizer {
  constructor(op, parameters) {
    this.parameters = parameterList(op, parameters);
  }
  /** Forgets all gradients. */
  zeroGrad() {
    for (const p of this.parameters) p.grad = null;
  }
}

/** Stochastic gradient descent: `p -= lr * (g + weightDecay * p)`, with momentum as in PyTorch. */
export class SGD extends Optimizer {
  constructor(parameters, given) {
    super("optim.SGD", parameters);
    const { lr = 1e-3, momentum = 0, weightDecay = 0 } = options("optim.SGD", given, ["lr", "momentum", "weightDecay"]);
    this.lr = numberOption("optim.SGD", "lr", lr);
    this.momentum = numberOption("optim.SGD", "momentum", momentum);
    this.weightDecay = numberOption("optim.SGD", "weightDecay", weightDecay);
    this.velocity = this.parameters.map(() => null);
  }
  step() {
    noGrad(() => {
      this.parameters.forEach((p, i) => {
        let g = p.grad;
        if (g === null) return;
        if (this.weightDecay !== 0) g = g.add(p.mul(this.weightDecay));
        if (this.momentum !== 0) {
          const v = this.velocity[i];
          g = this.velocity[i] = v === null ? g.clone() : v.mul_(this.momentum).add_(g);
        }
        p.sub_(g.mul(this.lr));
      });
    });
  }
}

class AdamBase extends Optimizer {
  constructor(op, parameters, given, decay, decoupled) {
    super(op, parameters);
    const { lr = 1e-3, betas = [0.9, 0.999], eps = 1e-8, weightDecay = decay } = options(op, given, ["lr", "betas", "eps", "weightDecay"]);
    this.lr = numberOption(op, "lr", lr);
    this.betas = [numberOption(op, "betas[0]", betas[0]), numberOption(op, "betas[1]", betas[1])];
    this.eps = numberOption(op, "eps", eps);
    this.weightDecay = numberOption(op, "weightDecay", weightDecay);
    this.decoupled = decoupled;
    this.steps = 0;
    this.moments = this.parameters.map(() => null);
  }
  step() {
    this.steps++;
    const args = [];
    noGrad(() => {
      this.parameters.forEach((p, i) => {
        const g = p.grad;
        if (g === null) return;
        const { m, v } = this.moments[i] ??= { m: zerosLike(p), v: zerosLike(p) };
        args.push(p, g, m, v);
      });
      if (args.length === 0) return;
      const { lr, betas, eps, weightDecay, decoupled, steps } = this;
      callNone("adamStep", args, [lr, betas[0], betas[1], eps, weightDecay, decoupled ? 1 : 0, steps]);
    });
  }
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
