// Every call of cases.js against the values and gradients in cases.json, which PyTorch wrote in
// float64: with inputs as they are, and with every input made non-contiguous.
// usage: mlrun main.js [NAME-PART]; prints failures and counts.
// In cases.json float64 stands for "float32 here"; other dtypes must match exactly.
import { concat, tensor } from "mlrun";
import { calls } from "./cases.js";
import data from "./cases.json" with { type: "json" };

const JS_DTYPE = { float64: "float32" };
const SPECIAL = { nan: NaN, inf: Infinity, "-inf": -Infinity };
const number = (v) => (typeof v === "string" ? SPECIAL[v] : v);

function load(e) {
  const dtype = JS_DTYPE[e.dtype] ?? e.dtype;
  return tensor(e.data.map((v) => (dtype === "int64" ? BigInt(v) : number(v))), { dtype }).reshape(e.shape);
}

/** The same elements with others between them. */
const spread = (t) => concat([t.unsqueeze(-1), t.unsqueeze(-1), t.unsqueeze(-1)], -1).select(-1, 1);

function differs(t, e, tol) {
  const dtype = JS_DTYPE[e.dtype] ?? e.dtype;
  if (t.dtype !== dtype) return `dtype ${t.dtype}, expected ${dtype}`;
  if (t.shape.join() !== e.shape.join()) return `shape [${t.shape}], expected [${e.shape}]`;
  const got = t.toTypedArray();
  for (let i = 0; i < e.data.length; i++) {
    const want = Number(number(e.data[i])), have = Number(got[i]);
    const close = Number.isNaN(want) ? Number.isNaN(have) : have === want || Math.abs(have - want) <= tol * Math.max(1, Math.abs(want));
    if (!close) return `element ${i} is ${have}, expected ${want}`;
  }
  return null;
}

function run(call, c, layout) {
  const leaves = c.inputs.map((e, k) => {
    const t = layout(load(e));
    return c.grads?.[k] ? t.requiresGrad_() : t;
  });
  const result = call(...leaves), out = Array.isArray(result) ? result : [result];
  for (let k = 0; k < c.outputs.length; k++) {
    const problem = differs(out[k], c.outputs[k], c.tol);
    if (problem) return problem;
  }
  if (!c.grads) return null;
  out[0].backward(layout(load(c.cotangent)));
  for (let k = 0; k < c.grads.length; k++) {
    if (!c.grads[k]) continue;
    const problem = leaves[k].grad ? differs(leaves[k].grad, c.grads[k], c.tol * 5) : "no gradient";
    if (problem) return `grad ${k}: ${problem}`;
  }
  return null;
}

for (const [name, layout] of [["as they are", (t) => t], ["non-contiguous", spread]]) {
  let passed = 0, failed = 0;
  calls.forEach((call, i) => {
    const c = data.cases[i];
    if (process.argv[2] && !c.name.includes(process.argv[2])) return;
    let problem;
    try {
      problem = run(call, c, layout);
    } catch (e) {
      problem = `${e?.name}: ${e?.message}`;
    }
    if (problem) {
      failed++;
      console.log(`${name}: ${c.name}: ${problem}`);
    } else passed++;
  });
  console.log(`${name}: ${passed} passed, ${failed} failed`);
}
