// A tensor as text, in the manner of PyTorch's print: at most 1,000 elements, else the edges.

import { addMethods, isTensor } from "ext:mlrun_tensor/00_handle.js";

const PRECISION = 4;
const THRESHOLD = 1000;
const EDGE = 3;
const WIDTH = 80;

function isInteger(dtype) {
  return dtype.startsWith("int") || dtype === "uint8";
}

/** How numbers of one tensor are written: all in one style, as wide as the widest. */
function numberStyle(values, dtype) {
  if (dtype === "bool" || isInteger(dtype)) return (v) => `${v}`;
  const finite = values.filter((v) => Number.isFinite(v) && v !== 0);
  const special = (v) => (Number.isNaN(v) ? "nan" : v > 0 ? "inf" : "-inf");
  if (finite.every((v) => Number.isInteger(v) && Math.abs(v) < 1e8)) {
    return (v) => (Number.isFinite(v) ? `${Object.is(v, -0) ? "-0" : v}.` : special(v));
  }
  const sizes = finite.map(Math.abs);
  const max = Math.max(...sizes), min = Math.min(...sizes);
  const exponential = max / min > 1000 || max >= 1e8 || min < 1e-4;
  const text = exponential
    ? (v) => v.toExponential(PRECISION).replace(/e([+-])(\d)$/, "e$10$2")
    : (v) => v.toFixed(PRECISION);
  return (v) => (Number.isFinite(v) ? text(v) : special(v));
}

function edges(n, summarise) {
  if (!summarise || n <= 2 * EDGE) return { head: n, tail: 0 };
  return { head: EDGE, tail: EDGE };
}

/** Elements that will be shown, in order. */
function shown(data, shape, summarise, dim = 0, offset = 0, out = []) {
  if (dim === shape.length) {
    out.push(data[offset]);
    return out;
  }
  let step = 1;
  for (let i = dim + 1; i < shape.length; i++) step *= shape[i];
  const { head, tail } = edges(shape[dim], summarise);
  for (let i = 0; i < head; i++) shown(data, shape, summarise, dim + 1, offset + i * step, out);
  for (let i = shape[dim] - tail; i < shape[dim]; i++) {
    shown(data, shape, summarise, dim + 1, offset + i * step, out);
  }
  return out;
}

function row(cells, gap, indent) {
  const pieces = gap < 0 ? cells : [...cells.slice(0, gap), "...", ...cells.slice(gap)];
  const lines = [];
  let line = "";
  for (let i = 0; i < pieces.length; i++) {
    const piece = pieces[i] + (i + 1 < pieces.length ? "," : "");
    if (line !== "" && indent + line.length + 1 + piece.length > WIDTH) {
      lines.push(line);
      line = "";
    }
    line += line === "" ? piece : ` ${piece}`;
  }
  lines.push(line);
  return `[${lines.join(`\n${" ".repeat(indent + 1)}`)}]`;
}

function nested(cells, shape, summarise, indent, dim = 0) {
  if (shape.length === 0) return cells.next().value;
  const { head, tail } = edges(shape[dim], summarise);
  const n = head + tail, gap = tail > 0 ? head : -1;
  if (dim === shape.length - 1) {
    const own = [];
    for (let i = 0; i < n; i++) own.push(cells.next().value);
    return row(own, gap, indent + dim);
  }
  const parts = [];
  for (let i = 0; i < n; i++) parts.push(nested(cells, shape, summarise, indent, dim + 1));
  if (gap >= 0) parts.splice(gap, 0, "...");
  const space = "\n".repeat(shape.length - 1 - dim) + " ".repeat(indent + dim + 1);
  return `[${parts.join(`,${space}`)}]`;
}

export function format(t) {
  const { shape, dtype, size } = t;
  const tags = [];
  const summarise = size > THRESHOLD;
  let body;
  if (size === 0) {
    body = "[]";
    if (shape.length !== 1) tags.push(`size=(${shape.join(", ")})`);
  } else {
    const data = Array.from(t.toTypedArray(), (v) => dtype === "bool" ? v !== 0 : v);
    const values = shown(data, shape, summarise);
    const style = numberStyle(values.filter((v) => typeof v === "number"), dtype);
    const texts = values.map(style);
    const width = shape.length === 0 ? 0 : Math.max(...texts.map((s) => s.length));
    body = nested(texts.map((s) => s.padStart(width)).values(), shape, summarise, "tensor(".length);
  }
  if (!["float32", "int64", "bool"].includes(dtype) || (size === 0 && dtype !== "float32")) {
    tags.push(`dtype=${dtype}`);
  }
  if (t.requiresGrad) tags.push(t.isLeaf ? "requiresGrad=true" : "gradFn=true");
  return `tensor(${[body, ...tags].join(", ")})`;
}

function inspected(t) {
  return isTensor(t) ? (t.isDisposed ? "tensor(disposed)" : format(t)) : "Tensor {}";
}

addMethods({
  toString() {
    return format(this);
  },
  [Symbol.for("Deno.customInspect")]() {
    return inspected(this);
  },
  [Symbol.for("Deno.privateCustomInspect")]() {
    return inspected(this);
  },
  [Symbol.for("nodejs.util.inspect.custom")]() {
    return inspected(this);
  },
  get [Symbol.toStringTag]() {
    return "Tensor";
  },
});

