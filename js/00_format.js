// A tensor as text, in the manner of PyTorch's print: at most 1,000 elements, else the edges.

import { addMethods, isTensor, Tensor } from "ext:mlrun_tensor/00_handle.js";
import { concat } from "ext:mlrun_tensor/00_direct.js";

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

/** The part of `t` that will be shown: views of edges, joined, so that nothing large is copied. */
function shown(t, summarise, dim = 0) {
  if (dim === t.ndim) return t;
  const { head, tail } = edges(t.shape[dim], summarise);
  if (tail === 0) return shown(t, summarise, dim + 1);
  const first = shown(t.narrow(dim, 0, head), summarise, dim + 1);
  const last = shown(t.narrow(dim, t.shape[dim] - tail, tail), summarise, dim + 1);
  return concat([first, last], dim);
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
    const part = summarise ? shown(t.detach(), true) : t;
    const values = Array.from(part.toTypedArray(), (v) => dtype === "bool" ? v !== 0 : v);
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

/** Makes `print(value)` what console.log shows of a class's values; inside others it is indented. */
export function shownBy(prototype, print) {
  const show = function (_, context) {
    return print(this).replaceAll("\n", `\n${" ".repeat(context?.indentationLvl ?? 0)}`);
  };
  for (const name of ["Deno.customInspect", "Deno.privateCustomInspect", "nodejs.util.inspect.custom"]) {
    Object.defineProperty(prototype, Symbol.for(name), { value: show, writable: true, configurable: true, enumerable: false });
  }
}

shownBy(Tensor.prototype, inspected);
addMethods({
  toString() {
    return format(this);
  },
  get [Symbol.toStringTag]() {
    return "Tensor";
  },
});

