// Lists of what stands on modules, for every step of a training loop.
//
// Written by hand for the ownership pass, as 00_handle.js says: a list holds a count of each of its
// values.

import { borrows, isParameter, isTensor } from "ext:mlrun_tensor/00_handle.js";
import { adopt, given, hold } from "ext:mlrun_tensor/00_ownership.js";

let isModule, buffersOf;

/** `isModule(v)`: v is a module; `buffersOf(m)`: the names of its buffers, or null. */
export function setWalk(hooks) {
  ({ isModule, buffersOf } = hooks);
}

export function isContainer(v) {
  if (Array.isArray(v)) return true;
  if (v === null || typeof v !== "object") return false;
  const proto = Object.getPrototypeOf(v);
  return proto === Object.prototype || proto === null;
}

/** Parameters of `holder` and of the containers below it go to `found`, modules to `children`. */
function gather(holder, buffers, seen, found, children) {
  const keys = Object.keys(holder);
  for (let i = 0; i < keys.length; i++) {
    const value = holder[keys[i]];
    if (typeof value !== "object" || value === null) continue;
    if (isTensor(value)) {
      if (!(buffers !== null && buffers.has(keys[i])) && isParameter(value)) found.add(value);
    } else if (isModule(value)) {
      children[children.length] = value;
    } else if (isContainer(value) && !seen.has(value)) {
      seen.add(value);
      gather(value, null, seen, found, children);
    }
  }
}

function enter(module, open, found) {
  if (open.has(module)) return;
  open.add(module);
  const children = [];
  gather(module, buffersOf(module), new Set(), found, children);
  for (let i = 0; i < children.length; i++) enter(children[i], open, found);
}

function counted(values) {
  const out = [];
  values.forEach((value) => {
    out[out.length] = hold(value);
  });
  return given(adopt(out));
}

/** Parameters of a module and of all below it, parents first, each once. */
export function parametersBelow(module) {
  const found = new Set();
  enter(module, new Set(), found);
  return counted(found);
}

/** Fields that hold modules, in order. */
export function modulesOn(list) {
  const keys = Object.keys(list), found = [];
  for (let i = 0; i < keys.length; i++) {
    const value = list[keys[i]];
    if (typeof value === "object" && value !== null && isModule(value)) found[found.length] = value;
  }
  return counted(found);
}

for (const f of [setWalk, isContainer, parametersBelow, modulesOn]) borrows(f);
