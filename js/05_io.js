// io: files of tensors. Loading copies into tensor memory; saving is complete or not at all.
//
// Calls are synchronous, so that they work in any function; `await` in front of one does no
// harm. Deliberately not here: formats (ext/tensor/io).

import { afterCollection, describe, idOf, isTensor, make, ops, options, tensorArg } from "ext:mlrun_tensor/00_handle.js";

/** The path of a string or a file: URL. */
function fileArg(op, file) {
  if (typeof file === "string" && file !== "") return file;
  if (typeof file?.href === "string" && file.protocol === "file:") {
    try {
      return decodeURIComponent(file.pathname);
    } catch {
      throw new TypeError(`${op}: got ${file.href}, which is no UTF-8 when decoded`);
    }
  }
  const got = file === "" ? "an empty string" : describe(file);
  throw new TypeError(`${op}: file must be a path or a file: URL, got ${got}`);
}

function note(op, name, t, { names, ids }) {
  if (typeof name !== "string") throw new TypeError(`${op}: names must be strings, got ${describe(name)}`);
  ids.push(idOf(tensorArg(op, JSON.stringify(name), t)));
  names.push(name);
}

/** Names and ids of a plain object's or a Map's tensors. */
function namedTensors(op, tensors) {
  if (typeof tensors !== "object" || tensors === null || isTensor(tensors) || Array.isArray(tensors)) {
    throw new TypeError(`${op}: tensors must be an object of tensors, got ${describe(tensors)}`);
  }
  const found = { names: [], ids: [] };
  if (tensors instanceof Map) {
    for (const [name, t] of tensors) note(op, name, t, found);
  } else {
    for (const name of Object.keys(tensors)) note(op, name, tensors[name], found);
  }
  return found;
}

function namesOption(op, names) {
  if (names === undefined || names === null) return null;
  if (!Array.isArray(names)) throw new TypeError(`${op}: names must be an array of strings, got ${describe(names)}`);
  for (const name of names) {
    if (typeof name !== "string") throw new TypeError(`${op}: names must hold strings, got ${describe(name)}`);
  }
  return names;
}

/** Pairs of name and id; at the memory limit garbage is collected first. */
function load(format, file, names) {
  const run = () => ops.op_tensor_load(format, file, names);
  try {
    return run();
  } catch (e) {
    return afterCollection(e, run);
  }
}

function loadNamed(format, file, given) {
  const op = `io.load${format}`;
  const names = namesOption(op, options(op, given, ["names"]).names);
  const out = {};
  for (const [name, id] of load(format, fileArg(op, file), names)) {
    // An own property for every name.
    if (name === "__proto__") Object.defineProperty(out, name, { value: make(id), writable: true, enumerable: true, configurable: true });
    else out[name] = make(id);
  }
  return out;
}

/** Tensors by name out of a safetensors file; with `names` only these are read. */
export function loadSafetensors(file, given) {
  return loadNamed("Safetensors", file, given);
}

/** What a safetensors file holds, without reading it: `{ metadata, tensors }`. */
export function safetensorsHeader(file) {
  const [metadata, infos] = ops.op_tensor_safetensors_header(fileArg("io.safetensorsHeader", file));
  const tensors = infos.map(([name, dtype, shape, bytes]) => [name, { dtype, shape, bytes }]);
  return { metadata: Object.fromEntries(metadata), tensors: Object.fromEntries(tensors) };
}

/** Writes tensors by name, and `metadata` of strings. */
export function saveSafetensors(file, tensors, given) {
  const op = "io.saveSafetensors";
  const { metadata = {} } = options(op, given, ["metadata"]);
  if (typeof metadata !== "object" || metadata === null) {
    throw new TypeError(`${op}: metadata must be an object of strings, got ${describe(metadata)}`);
  }
  for (const [key, value] of Object.entries(metadata)) {
    if (typeof value !== "string") {
      throw new TypeError(`${op}: metadata ${JSON.stringify(key)} must be a string, got ${describe(value)}`);
    }
  }
  const path = fileArg(op, file);
  const { names, ids } = namedTensors(op, tensors);
  ops.op_tensor_save("Safetensors", path, names, ids, Object.entries(metadata), false);
}

/** The array of an npy file. */
export function loadNpy(file) {
  return make(load("Npy", fileArg("io.loadNpy", file), null)[0][1]);
}

/** Writes one tensor as NumPy's `save`. */
export function saveNpy(file, t) {
  const path = fileArg("io.saveNpy", file);
  ops.op_tensor_save("Npy", path, [""], [idOf(tensorArg("io.saveNpy", "tensor", t))], [], false);
}

/** Arrays by name out of an npz file; with `names` only these are read. */
export function loadNpz(file, given) {
  return loadNamed("Npz", file, given);
}

/** Writes tensors by name as NumPy's `savez`, or as `savez_compressed` with `compressed`. */
export function saveNpz(file, tensors, given) {
  const op = "io.saveNpz";
  const { compressed = false } = options(op, given, ["compressed"]);
  const path = fileArg(op, file);
  const { names, ids } = namedTensors(op, tensors);
  ops.op_tensor_save("Npz", path, names, ids, [], Boolean(compressed));
}
