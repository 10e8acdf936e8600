// Activations and losses as modules: nn.functional's, with their options kept.

import { describe, integer, options, tensorArg } from "ext:mlrun_tensor/00_handle.js";
import * as F from "ext:mlrun_tensor/02_functional.js";
import { located, Module } from "ext:mlrun_tensor/02_module.js";

/** A module without settings that applies `f`. */
function plain(name, f) {
  return {
    [name]: class extends Module {
      forward(x) {
        try {
          return f(tensorArg(`nn.${name}`, "input", x));
        } catch (e) {
          throw located(this, e);
        }
      }
    },
  }[name];
}

/** A module with one setting, given as a number or as an option. */
function withNumber(name, setting, otherwise, f) {
  return {
    [name]: class extends Module {
      constructor(given) {
        super();
        const value = typeof given === "number" ? given : options(`nn.${name}`, given, [setting])[setting] ?? otherwise;
        if (typeof value !== "number") throw new TypeError(`nn.${name}: ${setting} must be a number, got ${describe(value)}`);
        this[setting] = value;
      }
      forward(x) {
        try {
          return f(tensorArg(`nn.${name}`, "input", x), this[setting]);
        } catch (e) {
          throw located(this, e);
        }
      }
      extraRepr() {
        return `${setting}=${this[setting]}`;
      }
    },
  }[name];
}

export const ReLU = plain("ReLU", (x) => x.relu());
export const Tanh = plain("Tanh", (x) => x.tanh());
export const Sigmoid = plain("Sigmoid", (x) => x.sigmoid());
export const SiLU = plain("SiLU", (x) => x.silu());
export const LeakyReLU = withNumber("LeakyReLU", "negativeSlope", 0.01, (x, slope) => x.leakyRelu(slope));
export const ELU = withNumber("ELU", "alpha", 1, (x, alpha) => x.elu(alpha));
export const Softmax = withNumber("Softmax", "dim", -1, (x, dim) => F.softmax(x, integer("nn.Softmax", "dim", dim)));
export const LogSoftmax = withNumber("LogSoftmax", "dim", -1, (x, dim) => F.logSoftmax(x, integer("nn.LogSoftmax", "dim", dim)));

export class GELU extends Module {
  constructor(given) {
    super();
    const { approximate = "none" } = options("nn.GELU", given, ["approximate"]);
    if (approximate !== "none" && approximate !== "tanh") {
      throw new TypeError(`nn.GELU: unknown approximate "${approximate}", expected none or tanh`);
    }
    this.approximate = approximate;
  }
  forward(x) {
    try {
      return tensorArg("nn.GELU", "input", x).gelu({ approximate: this.approximate });
    } catch (e) {
      throw located(this, e);
    }
  }
  extraRepr() {
    return `approximate="${this.approximate}"`;
  }
}

export class Softplus extends Module {
  constructor(given) {
    super();
    const { beta = 1, threshold = 20 } = options("nn.Softplus", given, ["beta", "threshold"]);
    this.beta = beta;
    this.threshold = threshold;
  }
  forward(x) {
    try {
      return tensorArg("nn.Softplus", "input", x).softplus({ beta: this.beta, threshold: this.threshold });
    } catch (e) {
      throw located(this, e);
    }
  }
  extraRepr() {
    return `beta=${this.beta}, threshold=${this.threshold}`;
  }
}

/** A loss that keeps its options; which ones there are is checked when it is made. */
function loss(name, known, f) {
  return {
    [name]: class extends Module {
      constructor(given) {
        super();
        const own = options(`nn.${name}`, given, known);
        // On fields, so that tensors among them are the module's buffers.
        for (const key of Object.keys(own)) {
          if (key === "weight" || key === "posWeight") this.registerBuffer(key, own[key], { persistent: false });
          else this[key] = own[key];
        }
      }
      forward(input, target) {
        try {
          const own = {};
          for (const key of known) if (this[key] !== undefined && this[key] !== null) own[key] = this[key];
          return f(input, target, own);
        } catch (e) {
          throw located(this, e);
        }
      }
    },
  }[name];
}
export const CrossEntropyLoss = loss("CrossEntropyLoss", ["weight", "reduction", "ignoreIndex", "labelSmoothing"],
  (x, t, o) => F.crossEntropy(x, t, o));
export const NLLLoss = loss("NLLLoss", ["weight", "reduction", "ignoreIndex"], (x, t, o) => F.nllLoss(x, t, o));
export const MSELoss = loss("MSELoss", ["reduction"], (x, t, o) => F.mseLoss(x, t, o));
export const L1Loss = loss("L1Loss", ["reduction"], (x, t, o) => F.l1Loss(x, t, o));
export const SmoothL1Loss = loss("SmoothL1Loss", ["reduction", "beta"], (x, t, o) => F.smoothL1Loss(x, t, o));
export const BCEWithLogitsLoss = loss("BCEWithLogitsLoss", ["weight", "posWeight", "reduction"], (x, t, o) => F.bceWithLogits(x, t, o));
