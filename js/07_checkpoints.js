// Checkpoints of a training run: one safetensors file each, complete or absent, in a folder that
// keeps the newest and the best.
//
// What has a `stateDict` is saved as a tree: its tensors under "part.key", the rest as JSON in the
// file's metadata.

import { describe, integer, isTensor, options, ops } from "ext:mlrun_tensor/00_handle.js";
import { loadSafetensors, safetensorsHeader, saveSafetensors } from "ext:mlrun_tensor/05_io.js";

const NAME = /^step-(\d{8,})\.safetensors$/;
const KEY = "mlrun.checkpoint";

/** A tree as JSON; tensors go to `tensors` under their path, odd numbers are spelled out. `above`: what holds it. */
function packed(value, path, tensors, above) {
  if (isTensor(value)) {
    // A key with a dot in it can spell the path of another tensor.
    while (Object.hasOwn(tensors, path)) path += "'";
    tensors[path] = value;
    return { $tensor: path };
  }
  if (typeof value === "number" && !Number.isFinite(value)) return { $number: String(value) };
  if (Object.is(value, -0)) return { $number: "-0" };
  if (typeof value === "bigint") return { $bigint: String(value) };
  if (value === null || ["number", "string", "boolean"].includes(typeof value)) return value;
  if (above.includes(value)) throw new TypeError(`Checkpoints.save: ${path} holds itself, expected a tree`);
  const here = [...above, value];
  if (Array.isArray(value)) return value.map((v, i) => packed(v, `${path}.${i}`, tensors, here));
  if (typeof value === "object" && (Object.getPrototypeOf(value) === Object.prototype || Object.getPrototypeOf(value) === null)) {
    return Object.fromEntries(Object.entries(value).filter(([, v]) => v !== undefined && typeof v !== "function")
      .map(([k, v]) => [k, packed(v, `${path}.${k}`, tensors, here)]));
  }
  throw new TypeError(`Checkpoints.save: cannot save ${describe(value)} at ${path}, expected tensors, numbers, texts, arrays and plain objects`);
}

function unpacked(value, tensors) {
  if (value === null || typeof value !== "object") return value;
  if (Array.isArray(value)) return value.map((v) => unpacked(v, tensors));
  if (typeof value.$tensor === "string") return tensors[value.$tensor];
  if (typeof value.$number === "string") return Number(value.$number);
  if (typeof value.$bigint === "string") return BigInt(value.$bigint);
  return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, unpacked(v, tensors)]));
}

/**
 * A folder of checkpoints. After each `save` the newest and the best `keep` are left: those with
 * the lowest metric (`mode: "max"`: the highest), or the newest where none was given.
 */
export class Checkpoints {
  constructor(folder, given) {
    const { keep = 3, mode = "min" } = options("Checkpoints", given, ["keep", "mode"]);
    if (typeof folder !== "string" || folder === "") throw new TypeError(`Checkpoints: folder must be a path, got ${describe(folder)}`);
    if (integer("Checkpoints", "keep", keep) < 1) throw new RangeError(`Checkpoints: keep must be at least 1, got ${keep}`);
    if (mode !== "min" && mode !== "max") throw new TypeError(`Checkpoints: unknown mode "${mode}", expected min or max`);
    Object.assign(this, { folder, keep, mode });
  }

  /** Checkpoints in the folder, oldest first: `{ step, metric, file }`. */
  list() {
    const out = [];
    for (const name of ops.op_tensor_list_folder("Checkpoints", this.folder)) {
      const match = NAME.exec(name);
      if (match === null) continue;
      const file = `${this.folder}/${name}`;
      const { metric } = headOf(file);
      out.push({ step: Number(match[1]), metric, file });
    }
    return out.sort((a, b) => a.step - b.step);
  }
  /** The newest checkpoint, or null. */
  latest() {
    return this.list().at(-1) ?? null;
  }
  /** The one with the best metric, or null. */
  best() {
    const rated = this.list().filter((c) => c.metric !== null).sort((a, b) => this.#compare(a, b));
    return rated[0] ?? null;
  }
  #compare(a, b) {
    const [x, y] = [a.metric, b.metric].map((m) => (m === null || Number.isNaN(m) ? null : m));
    if (x === null || y === null) return x === y ? b.step - a.step : x === null ? 1 : -1;
    return (this.mode === "min" ? x - y : y - x) || b.step - a.step;
  }

  /**
   * Saves what `parts` names (models, optimizers, schedules, loaders: all that has a `stateDict`,
   * or plain trees of tensors and values) as the state after `step` steps. Gives the file's path.
   */
  save(step, parts, given) {
    const { metric = null } = options("Checkpoints.save", given, ["metric"]);
    if (integer("Checkpoints.save", "step", step) < 0) throw new RangeError(`Checkpoints.save: step must be at least 0, got ${step}`);
    if (parts === null || typeof parts !== "object" || isTensor(parts)) {
      throw new TypeError(`Checkpoints.save: parts must be an object such as { model, optimizer }, got ${describe(parts)}`);
    }
    const score = isTensor(metric) ? Number(metric) : metric;
    if (score !== null && typeof score !== "number") {
      throw new TypeError(`Checkpoints.save: metric must be a number or a 0-d tensor, got ${describe(metric)}`);
    }
    const tensors = {}, tree = {};
    for (const [name, part] of Object.entries(parts)) {
      tree[name] = packed(typeof part?.stateDict === "function" ? part.stateDict() : part, name, tensors, []);
    }
    ops.op_tensor_make_folder("Checkpoints.save", this.folder);
    const file = `${this.folder}/step-${String(step).padStart(8, "0")}.safetensors`;
    saveSafetensors(file, tensors, { metadata: { [KEY]: JSON.stringify({ step, metric: packed(score, "metric", {}, []), tree }) } });
    this.#prune(step);
    return file;
  }

  #prune(newest) {
    const all = this.list();
    const best = [...all].sort((a, b) => this.#compare(a, b)).slice(0, this.keep);
    for (const c of all) {
      if (c.step !== newest && c !== all.at(-1) && !best.includes(c)) ops.op_tensor_remove_file("Checkpoints.save", c.file);
    }
  }

  /**
   * Loads the newest checkpoint (`which`: "latest", "best" or a step) into `parts`, and gives
   * `{ step, metric, parts }`, or null where the folder has none. Plain trees come back in `parts`.
   */
  load(parts, given) {
    const { which = "latest" } = options("Checkpoints.load", given, ["which"]);
    if (which !== "latest" && which !== "best" && typeof which !== "number") {
      throw new TypeError(`Checkpoints.load: unknown which ${typeof which === "string" ? `"${which}"` : describe(which)}, expected latest, best or a step`);
    }
    const found = which === "latest" ? this.latest() : which === "best" ? this.best() : this.list().find((c) => c.step === which) ?? null;
    if (found === null) {
      if (typeof which !== "number") return null;
      throw new RangeError(`Checkpoints.load: ${this.folder} has no step ${which}, expected one of ${this.list().map((c) => c.step).join(", ")}`);
    }
    const { tree, step, metric } = headOf(found.file);
    const tensors = loadSafetensors(found.file);
    const out = {};
    for (const [name, part] of Object.entries(parts ?? {})) {
      if (!Object.hasOwn(tree, name)) throw new RangeError(`Checkpoints.load: ${found.file} has no "${name}", expected ${Object.keys(tree).join(", ")}`);
      const value = unpacked(tree[name], tensors);
      if (typeof part?.loadStateDict === "function") part.loadStateDict(value);
      out[name] = value;
    }
    return { step, metric, parts: out };
  }
}

function headOf(file) {
  const text = safetensorsHeader(file).metadata[KEY];
  try {
    const { step, metric, tree } = JSON.parse(text);
    return { step, metric: unpacked(metric, {}), tree };
  } catch {
    throw new TypeError(`Checkpoints: ${file} is no checkpoint, expected one that Checkpoints.save wrote`);
  }
}
