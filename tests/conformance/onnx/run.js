// Runs the node tests that export.py wrote: `mlrun run.js FOLDER`, where excluded.txt stands
// beside this file. Prints a line for each: `passed NAME`, `excluded NAME: REASON` or
// `failed NAME: PROBLEM`. A failure is what has no reason yet.
import { io } from "mlrun";
import { Unsupported, adapters } from "./ops.js";
import { reasonFor } from "./excluded.js";

const folder = process.argv[2];
const { default: cases } = await import(`file://${folder}/cases.json`, { with: { type: "json" } });
const tensors = io.loadNpz(`${folder}/tensors.npz`);

// The tolerances of ONNX's own backend test, a little wider for the short formats.
const RTOL = { float16: 4e-3, bfloat16: 2e-2, float64: 1e-7 };

function differs(got, want) {
  if (got.dtype !== want.dtype) return `dtype ${got.dtype}, expected ${want.dtype}`;
  if (got.shape.join() !== want.shape.join()) return `shape [${got.shape}], expected [${want.shape}]`;
  const a = got.toTypedArray(), b = want.toTypedArray();
  const rtol = RTOL[want.dtype] ?? 1e-3, exact = !/float/.test(want.dtype);
  for (let i = 0; i < b.length; i++) {
    if (a[i] === b[i] || (Number.isNaN(a[i]) && Number.isNaN(b[i]))) continue;
    if (exact || !(Math.abs(a[i] - b[i]) <= 1e-7 + rtol * Math.abs(b[i]))) return `element ${i} is ${a[i]}, expected ${b[i]}`;
  }
  return null;
}

/** Runs the graph node by node; outputs by name. */
function evaluate(test, inputs) {
  const values = new Map([["", null]]);
  for (const [name, key] of Object.entries(test.constants)) values.set(name, tensors[key]);
  test.inputs.forEach((name, i) => inputs[i] && values.set(name, inputs[i]));
  for (const node of test.nodes) {
    const adapter = adapters[node.op];
    if (!adapter) throw new Unsupported(`op ${node.op} has no counterpart`);
    const attrs = {};
    for (const [name, v] of Object.entries(node.attrs)) attrs[name] = v?.tensor ? tensors[v.tensor] : typeof v === "string" && ["nan", "inf", "-inf"].includes(v) ? Number(v.replace("inf", "Infinity")) : v;
    const args = node.inputs.map((name) => values.get(name) ?? null);
    const results = [adapter(args, attrs, { opset: test.opset, outputs: node.outputs })].flat();
    node.outputs.forEach((name, i) => name && values.set(name, results[i]));
  }
  return test.outputs.map((name) => values.get(name));
}

function check(test) {
  for (const set of test.sets) {
    const got = evaluate(test, set.input.map((key) => tensors[key]));
    for (let i = 0; i < set.output.length; i++) {
      if (!got[i]) return `output ${test.outputs[i]} is missing`;
      const problem = differs(got[i], tensors[set.output[i]]);
      if (problem) return `${test.outputs[i]}: ${problem}`;
    }
  }
  return null;
}

for (const test of cases) {
  let excluded = test.excluded, problem = null;
  if (!excluded) {
    try {
      problem = check(test);
    } catch (e) {
      const missing = /(?:^|\.)(\w+) is not a (?:function|constructor)$/.exec(e?.message)?.[1];
      if (e instanceof Unsupported) excluded = e.message;
      else if (missing) excluded = `mlrun has no ${missing}`;
      else if (/^[\w.]+: no \w+ kernel on /.test(e?.message)) excluded = e.message.replace(/;.*/, "");
      else problem = `${e?.name}: ${e?.message}`;
    }
  }
  const reason = problem && reasonFor(test.name);
  if (reason) excluded = reason;
  console.log(excluded ? `excluded ${test.name}: ${excluded}` : problem ? `failed ${test.name}: ${problem}` : `passed ${test.name}`);
}
