// Lists of what stands on modules, for every step of a training loop.
//
// Written by hand for the ownership pass, as 00_handle.js says: a list holds a count of each of its
// values.

import { borrows, isParameter, isTensor } from "ext:mlrun_tensor/00_handle.js";
import { adopt, drop, given, hold } from "ext:mlrun_tensor/00_ownership.js";

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

// A field may be a getter, which may let go of what was read before: whatever is read is held at once.

/** Parameters of `holder` and of the containers below it go to `found`, modules to `children`. */
function gather(holder, buffers, seen, found, children) {
  const keys = Object.keys(holder);
  for (let i = 0; i < keys.length; i++) {
    const value = holder[keys[i]];
    if (typeof value !== "object" || value === null) continue;
    if (isTensor(value)) {
      if (!(buffers !== null && buffers.has(keys[i])) && isParameter(value) && !found.has(value)) found.add(hold(value));
    } else if (isModule(value)) {
      children[children.length] = hold(value);
    } else if (!seen.has(value)) {
      seen.add(hold(value));
      if (isContainer(value)) gather(value, null, seen, found, children);
    }
  }
}

function enter(module, open, found) {
  if (open.has(module)) return;
  open.add(module);
  const children = [], seen = new Set();
  gather(module, buffersOf(module), seen, found, children);
  seen.forEach(drop);
  for (let i = 0; i < children.length; i++) {
    enter(children[i], open, found);
    drop(children[i]);
  }
}

/** Parameters of a module and of all below it, parents first, each once. */
export function parametersBelow(module) {
  const found = new Set(), out = [];
  enter(module, new Set(), found);
  found.forEach((p) => {
    out[out.length] = p;
  });
  return given(adopt(out));
}

/** Fields that hold modules, in order. */
export function modulesOn(list) {
  const keys = Object.keys(list), found = [];
  for (let i = 0; i < keys.length; i++) {
    const value = list[keys[i]];
    if (typeof value === "object" && value !== null && isModule(value)) found[found.length] = hold(value);
  }
  return given(adopt(found));
}

for (const f of [setWalk, isContainer, parametersBelow, modulesOn]) borrows(f);
