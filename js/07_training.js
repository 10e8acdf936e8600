// Comforts of a training script: progress lines, a summary of a model.

import { describe, isTensor, options } from "ext:mlrun_tensor/00_handle.js";
import { shownBy } from "ext:mlrun_tensor/00_format.js";
import { zeros } from "ext:mlrun_tensor/00_make.js";
import { noGrad } from "ext:mlrun_tensor/01_autograd.js";
import { Module } from "ext:mlrun_tensor/02_module.js";

// ---- Progress.

/** Milliseconds between two drawings on a terminal, and between two plain lines. */
const REDRAW = 100;
const LINE = 10_000;

function duration(seconds) {
  if (!Number.isFinite(seconds)) return "?";
  const s = Math.round(seconds), pad = (v) => String(v).padStart(2, "0");
  return s >= 3600 ? `${Math.floor(s / 3600)}:${pad(Math.floor(s / 60) % 60)}:${pad(s % 60)}` : `${pad(Math.floor(s / 60))}:${pad(s % 60)}`;
}

function number(v) {
  if (typeof v !== "number") return String(v);
  if (Number.isInteger(v)) return String(v);
  return Math.abs(v) >= 1e-3 && Math.abs(v) < 1e5 ? v.toPrecision(4) : v.toExponential(2);
}

class Progress {
  #source;
  #label;
  #total;
  #metrics = {};
  #done = 0;
  #start = 0;
  #drawn = 0;
  #width = 0;

  constructor(source, given) {
    const { label = "", total } = options("progress", given, ["label", "total"]);
    const async = typeof source?.[Symbol.asyncIterator] === "function";
    if (typeof source === "number") {
      const n = source;
      this.#source = { *[Symbol.iterator]() {
        for (let i = 0; i < n; i++) yield i;
      } };
      this.#total = n;
    } else if (async || typeof source?.[Symbol.iterator] === "function") {
      this.#source = source;
      this.#total = total ?? lengthOf(source);
    } else {
      throw new TypeError(`progress: expected an iterable or a number of steps, got ${describe(source)}`);
    }
    this.#label = String(label);
  }

  /** Metrics to show behind the rate: `bar.set({ loss })`. Tensors of one element are read when drawn. */
  set(metrics) {
    this.#metrics = { ...this.#metrics, ...metrics };
    return this;
  }

  *[Symbol.iterator]() {
    this.#begin();
    try {
      for (const item of this.#source) {
        yield item;
        this.#advance();
      }
    } finally {
      this.#end();
    }
  }
  async *[Symbol.asyncIterator]() {
    this.#begin();
    try {
      for await (const item of this.#source) {
        yield item;
        this.#advance();
      }
    } finally {
      this.#end();
    }
  }

  #begin() {
    this.#done = 0;
    this.#start = this.#drawn = performance.now();
  }
  #advance() {
    this.#done++;
    const now = performance.now(), terminal = process.stderr.isTTY;
    if (now - this.#drawn < (terminal ? REDRAW : LINE)) return;
    this.#drawn = now;
    this.#write(this.#text(now, false), terminal, false);
  }
  #end() {
    this.#write(this.#text(performance.now(), true), process.stderr.isTTY, true);
  }

  #text(now, ended) {
    const done = this.#done, total = this.#total, seconds = (now - this.#start) / 1000;
    const rate = seconds > 0 ? done / seconds : 0;
    const parts = [];
    if (total === undefined) parts.push(`${done}`);
    else parts.push(`${total === 0 ? 100 : Math.floor(100 * done / total)} % ${done}/${total}`);
    const left = ended || total === undefined ? duration(seconds) : `${duration(seconds)}<${duration((total - done) / rate)}`;
    parts.push(`[${left}, ${rate >= 1 || rate === 0 ? `${rate.toFixed(1)}/s` : `${(1 / rate).toFixed(2)} s each`}]`);
    for (const [name, v] of Object.entries(this.#metrics)) parts.push(`${name} ${number(isTensor(v) ? v.item() : v)}`);
    return `${this.#label === "" ? "" : `${this.#label}: `}${parts.join("  ")}`;
  }
  #write(text, terminal, ended) {
    if (!terminal) {
      process.stderr.write(`${text}\n`);
      return;
    }
    const columns = process.stderr.columns ?? 80;
    const bar = this.#bar(columns - text.length - 3);
    const line = `${bar}${text}`.slice(0, columns - 1);
    process.stderr.write(`\r${line.padEnd(this.#width)}${ended ? "\n" : ""}`);
    this.#width = line.length;
  }
  #bar(room) {
    if (this.#total === undefined || room < 10) return "";
    const width = Math.min(room, 30), full = this.#total === 0 ? width : Math.round(width * Math.min(1, this.#done / this.#total));
    return `${"\u2588".repeat(full)}${"\u2591".repeat(width - full)} `;
  }
}

function lengthOf(source) {
  try {
    const n = source.length ?? source.size;
    return typeof n === "number" ? n : undefined;
  } catch {
    // A loader of an iterable does not know.
    return undefined;
  }
}

/**
 * The items of `iterable`, with a line on standard error that shows how far the loop is, its rate
 * and the time left: drawn over and over on a terminal, else a plain line every ten seconds and at
 * the end. `progress(100)` counts from 0 to 99.
 */
export function progress(iterable, given) {
  return new Progress(iterable, given);
}

// ---- Summary.

const grouped = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, ",");
const shapesOf = (v) => (isTensor(v) ? [`[${v.shape.join(", ")}]`] : Array.isArray(v) ? v.flatMap(shapesOf)
  : v !== null && typeof v === "object" && Object.getPrototypeOf(v) === Object.prototype ? Object.values(v).flatMap(shapesOf) : []);

class Summary {
  constructor(layers, totals) {
    this.layers = layers;
    Object.assign(this, totals);
  }
  toString() {
    const rows = [["layer", "output", "parameters"], ...this.layers.map(({ path, name, depth, output, parameters }) =>
      [`${"  ".repeat(depth)}${path === "" ? name : `${path.split(".").at(-1)}: ${name}`}`, output, parameters === 0 ? "-" : grouped(parameters)])];
    const widths = [0, 1, 2].map((i) => Math.max(...rows.map((r) => r[i].length)));
    const lines = rows.map(([a, b, c]) => `${a.padEnd(widths[0])}  ${b.padEnd(widths[1])}  ${c.padStart(widths[2])}`.trimEnd());
    const rule = "-".repeat(widths[0] + widths[1] + widths[2] + 4);
    return [lines[0], rule, ...lines.slice(1), rule, `${grouped(this.totalParameters)} parameters, ${grouped(this.trainableParameters)} of them trained, ` +
      `${grouped(this.parameterBytes)} bytes`].join("\n");
  }
}
shownBy(Summary.prototype, String);

/**
 * Runs `model` once on `input` (a tensor, a shape for zeros, or an array of arguments) in evaluation
 * mode, and gives for each layer its output's shape and its own parameters. Prints as a table.
 */
export function summary(model, input) {
  if (!(model instanceof Module)) throw new TypeError(`summary: expected a module, got ${describe(model)}`);
  const args = isTensor(input) ? [input]
    : Array.isArray(input) && input.length > 0 && input.every((v) => typeof v === "number") ? [zeros(input)]
    : Array.isArray(input) ? input : null;
  if (args === null) throw new TypeError(`summary: input must be a tensor, a shape or an array of arguments, got ${describe(input)}`);
  const modules = model.namedModules(), modes = modules.map(([, m]) => m.training);
  const outputs = new Map();
  const hooks = modules.map(([, m]) => m.registerForwardHook((_, __, output) => {
    outputs.set(m, shapesOf(output).join(" "));
  }));
  model.eval();
  try {
    noGrad(() => model.forward(...args));
  } finally {
    hooks.forEach((h) => h.remove());
    modules.forEach(([, m], i) => m.training = modes[i]);
  }
  const counted = new Set();
  const sizes = (list) => list.reduce((n, p) => n + p.size, 0);
  const layers = modules.map(([path, m]) => {
    const inside = new Set(m.children().flatMap((c) => c.parameters()));
    const own = m.parameters().filter((p) => !inside.has(p) && !counted.has(p));
    for (const p of own) counted.add(p);
    return { path, name: m.constructor.name, depth: path === "" ? 0 : path.split(".").length, output: outputs.get(m) ?? "-", parameters: sizes(own) };
  });
  const all = model.parameters();
  return new Summary(layers, {
    totalParameters: sizes(all),
    trainableParameters: sizes(all.filter((p) => p.requiresGrad)),
    parameterBytes: all.reduce((n, p) => n + p.size * BYTES[p.dtype], 0),
  });
}
const BYTES = { float32: 4, float64: 8, float16: 2, bfloat16: 2, int8: 1, uint8: 1, int16: 2, int32: 4, int64: 8, bool: 1 };
