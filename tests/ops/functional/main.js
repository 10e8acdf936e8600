// nn.functional beside PyTorch 2.15: values, gradients, and gradients of gradients along a
// direction, in float64; once with contiguous and once with strided inputs, values in float32 too.
import { autograd, tensor } from "mlrun";
import { calls } from "./cases.js";
import cases from "./cases.json" with { type: "json" };

const SPECIAL = { nan: NaN, inf: Infinity, "-inf": -Infinity };
const number = (v) => (typeof v === "string" ? SPECIAL[v] : v);

function load({ data, dtype, shape }, float = "float64") {
  const value = { int64: BigInt, bool: Boolean }[dtype] ?? number;
  return tensor(data.map(value), { dtype: dtype === "float64" ? float : dtype }).reshape(shape);
}

/** The same values in a view that is not contiguous. */
function strided(t) {
  if (t.ndim === 0 || t.size === 0) return t;
  if (t.ndim === 1) return t.reshape([-1, 1]).expand([t.shape[0], 2]).contiguous().select(1, 0);
  const reversed = t.shape.map((_, i) => t.ndim - 1 - i);
  return t.permute(reversed).contiguous().permute(reversed);
}

function difference(what, t, wanted, tolerance) {
  if (!wanted) return t && t.toTypedArray().some((v) => v !== 0) ? `${what}: unexpected` : null;
  if (!t) return wanted.data.some((v) => v !== 0) ? `${what}: none` : null;
  if (String(t.shape) !== String(wanted.shape)) return `${what}: shape [${t.shape}], expected [${wanted.shape}]`;
  const got = t.toTypedArray();
  for (let i = 0; i < got.length; i++) {
    const have = Number(got[i]), want = number(wanted.data[i]);
    const same = Object.is(have, want) || have === want || Math.abs(have - want) <= tolerance * Math.max(1, Math.abs(want));
    if (!same) return `${what}: element ${i} is ${have}, expected ${want}`;
  }
  return null;
}

function check(c, call, view) {
  const leaves = c.inputs.map((e, i) => {
    const t = view(load(e)).detach();
    return c.leaves.includes(i) ? t.requiresGrad_() : t;
  });
  const out = call(...leaves);
  let problem = difference("value", out, c.out, 1e-8);
  if (problem || !c.cotangent) return problem;
  const wanted = c.leaves.map((i) => leaves[i]);
  const gradOutputs = view(load(c.cotangent));
  const fused = autograd.grad(out, wanted, { gradOutputs, retainGraph: true, allowUnused: true });
  const composed = autograd.grad(out, wanted, { gradOutputs, createGraph: true, allowUnused: true });
  c.grads.forEach((e, i) => {
    problem ??= difference(`gradient ${i}`, fused[i], e, 1e-7) ?? difference(`recorded gradient ${i}`, composed[i], e, 1e-7);
  });
  if (problem || !c.second) return problem;
  const parts = composed.map((g, i) => (g && c.directions[i] ? g.mul(load(c.directions[i])).sum() : null)).filter((g) => g?.requiresGrad);
  const slope = parts.length > 0 ? parts.reduce((a, b) => a.add(b)) : null;
  const second = slope ? autograd.grad(slope, wanted, { allowUnused: true }) : wanted.map(() => null);
  c.second.forEach((e, i) => (problem ??= difference(`second order ${i}`, second[i], e, 1e-6)));
  return problem;
}

const failures = { contiguous: 0, strided: 0, float32: 0 };
cases.forEach((c, i) => {
  const report = (kind, problem) => {
    if (!problem) return;
    failures[kind]++;
    console.log(`${kind} ${c.name}: ${problem}`);
  };
  report("contiguous", check(c, calls[i], (t) => t));
  report("strided", check(c, calls[i], strided));
  // Its default eps is the dtype's.
  if (c.name === "rmsNorm eps") return;
  report("float32", difference("value", calls[i](...c.inputs.map((e) => load(e, "float32"))), c.out, 2e-4));
});
for (const [kind, count] of Object.entries(failures)) console.log(`${kind}: ${count} of ${cases.length} cases differ`);
