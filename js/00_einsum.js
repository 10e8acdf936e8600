// einsum: products of tensors summed over labels. The equation becomes numbers here, the products are
// one native call.
//
// Written by hand for the ownership pass, as 00_handle.js says.

import { addBorrowers, borrows, call, describe, list, tensorArg } from "ext:mlrun_tensor/00_handle.js";
import { drop, hold } from "ext:mlrun_tensor/00_ownership.js";

const LABEL = /^[A-Za-z]$/;
/** Labels of an ellipsis' dimensions, behind those of letters. */
const ELLIPSIS = 1000;

function fail(equation, problem) {
  throw new RangeError(`einsum: ${problem} in "${equation}"`);
}

/** Letters of one side of an equation; "..." counts as one. */
function letters(equation, text) {
  const out = [];
  for (let i = 0; i < text.length; i++) {
    if (text.startsWith("...", i)) {
      if (out.includes("...")) fail(equation, 'more than one "..." for one tensor');
      out.push("...");
      i += 2;
    } else if (LABEL.test(text[i])) {
      out.push(text[i]);
    } else {
      fail(equation, `got "${text[i]}", expected letters, "..." , "," and "->"`);
    }
  }
  return out;
}

const labelOf = (letter) => letter.charCodeAt(0);

/** Labels of one operand, an ellipsis aligned with the others' from behind. */
function operandLabels(equation, own, t, i) {
  const named = own.filter((l) => l !== "...").length, open = own.includes("...");
  if (open ? named > t.ndim : named !== t.ndim) {
    fail(equation, `operand ${i} of shape [${t.shape.join(", ")}] has ${t.ndim} dimensions, its labels name ${named}`);
  }
  const extra = t.ndim - named;
  const dims = Array.from({ length: extra }, (_, k) => ELLIPSIS + extra - 1 - k);
  return own.flatMap((l) => (l === "..." ? dims : [labelOf(l)]));
}

function checkExtents(equation, lists, tensors) {
  const seen = new Map();
  lists.forEach((labels, i) =>
    labels.forEach((label, d) => {
      const n = tensors[i].shape[d], before = seen.get(label) ?? 1;
      if (n !== 1 && before !== 1 && n !== before) {
        const name = label >= ELLIPSIS ? '"..."' : `label "${String.fromCharCode(label)}"`;
        fail(equation, `${name} has extents ${before} and ${n}, expected equal ones`);
      }
      if (n !== 1) seen.set(label, n);
    })
  );
}

/** Labels of the result where the equation names none: "..." and then letters that stand once. */
function implied(inputs, width) {
  const all = inputs.flat().filter((l) => l !== "...");
  const once = all.filter((l) => all.indexOf(l) === all.lastIndexOf(l)).sort();
  return [...(width > 0 ? ["..."] : []), ...once];
}

/**
 * Products of tensors summed over the labels that the result lacks, as PyTorch's einsum:
 * `einsum("bij,bjk->bik", a, b)`. Repeated labels of one tensor take its diagonal.
 */
export function einsum(equation, ...tensors) {
  if (typeof equation !== "string") throw new TypeError(`einsum: equation must be a string, got ${describe(equation)}`);
  const given = tensors.length === 1 && Array.isArray(tensors[0]) ? tensors[0] : tensors, operands = [];
  try {
    // Read once and held: a getter among the elements may let go of the others.
    for (let i = 0; i < given.length; i++) operands[i] = hold(tensorArg("einsum", `operand ${i}`, given[i]));
    return product(equation, operands);
  } finally {
    for (let i = 0; i < operands.length; i++) drop(operands[i]);
  }
}

function product(equation, operands) {
  const text = equation.replaceAll(" ", "");
  const [left, right, ...more] = text.split("->");
  if (more.length > 0) fail(equation, 'more than one "->"');
  const inputs = left.split(",").map((part) => letters(equation, part));
  if (inputs.length !== operands.length) fail(equation, `${inputs.length} operands are named and ${operands.length} given`);
  const lists = inputs.map((own, i) => operandLabels(equation, own, operands[i], i));
  checkExtents(equation, lists, operands);
  const width = Math.max(0, ...lists.map((l) => l.filter((v) => v >= ELLIPSIS).length));
  const output = right === undefined ? implied(inputs, width) : letters(equation, right);
  const dims = Array.from({ length: width }, (_, k) => ELLIPSIS + width - 1 - k);
  for (const l of output) {
    if (l !== "..." && !inputs.some((own) => own.includes(l))) fail(equation, `the result's label "${l}" names no dimension`);
    if (output.indexOf(l) !== output.lastIndexOf(l)) fail(equation, `the result's label "${l}" stands twice`);
  }
  const result = output.flatMap((l) => (l === "..." ? dims : [labelOf(l)]));
  return call("einsum", operands, list([...lists.flatMap((l) => [...l, -1]), ...result]));
}

addBorrowers({
  /** The function of this name, with this tensor as its first operand. */
  einsum(equation, ...others) {
    const operands = [this];
    for (let i = 0; i < others.length; i++) operands.push(others[i]);
    return einsum(equation, operands);
  },
});

borrows(einsum);
