// einsum beside loops over the labels' values, and its refusals.
import { arange, einsum, grad, randn, manualSeed, tensor, zeros } from "mlrun";

manualSeed(2);
const SIZES = { a: 2, b: 3, i: 4, j: 5, k: 3, l: 2 };

/** The definition: for each value of each label, the product of the elements there. */
function loops(equation, tensors) {
  const [left, right] = equation.split("->");
  const inputs = left.split(","), labels = [...new Set(left.replaceAll(",", ""))];
  const shape = [...right].map((l) => SIZES[l]);
  const out = new Float64Array(shape.reduce((x, y) => x * y, 1));
  const data = tensors.map((t) => t.toTypedArray());
  const at = (own, value) => [...own].reduce((n, l) => n * SIZES[l] + value[l], 0);
  const visit = (d, value) => {
    if (d === labels.length) {
      out[at(right, value)] += inputs.reduce((p, own, i) => p * data[i][at(own, value)], 1);
      return;
    }
    for (let v = 0; v < SIZES[labels[d]]; v++) visit(d + 1, { ...value, [labels[d]]: v });
  };
  visit(0, {});
  return tensor(out).reshape(shape);
}

for (const equation of [
  "ij->ji", "ij->", "ij->i", "ii->i", "ii->", "aij,ajk->aik", "ij,jk->ik", "ij,kj->ik", "i,j->ij", "i,i->", "ij,ij->i",
  "aij,bj->abi", "ij,jk,kl->il", "ijk,ljk->il", "aaj,j->a", "ai,ai->a", "ij,k->ijk", "i,ij,j->", "abij,abjk->abik", "ij,jk->ki",
]) {
  const inputs = equation.split("->")[0].split(",").map((own) => randn([...own].map((l) => SIZES[l]), { dtype: "float64" }));
  const got = einsum(equation, ...inputs), want = loops(equation, inputs);
  console.log(equation, `[${got.shape}]`, got.sub(want).abs().max().item() < 1e-12 ? "ok" : "wrong");
}

const m = arange(6, { dtype: "float32" }).reshape([2, 3]);
const show = (what, t) => console.log(`${what}: [${t.shape}] ${JSON.stringify(t)}`);
show("implied result", einsum("ij,jk", m, m.T));
show("implied order", einsum("ba", m));
show("implied trace", einsum("ii", tensor([[1, 2], [3, 4]])));
show("ellipsis", einsum("...ij,...jk->...ik", m.reshape([1, 2, 3]), m.T.reshape([1, 3, 2])));
show("ellipsis broadcast", einsum("...i,i->...", m.expand([2, 2, 3]), tensor([1, 0, 1])));
show("ellipsis summed", einsum("...i->i", m));
show("as a method", m.einsum("ij,kj->ik", m));
show("spaces and an array", einsum(" ij , j -> i ", [m, tensor([1, 1, 1])]));
show("extent 1 is stretched", einsum("ij,ij->ij", m, tensor([[2], [3]])));
show("integers", einsum("i,i->", tensor([1n, 2n]), tensor([3n, 4n])));
show("size 0", einsum("ij,jk->ik", zeros([2, 0]), zeros([0, 2])));
show("gradient", grad((a) => einsum("ij,kj->ik", a, m).sum())(m));
show("gradient of a diagonal", grad((a) => einsum("ii->i", a).mul(tensor([1, 2])).sum())(tensor([[1, 2], [3, 4]])));

for (const call of [
  () => einsum("ij,jk->ik", m), () => einsum("ij->ijk", m), () => einsum("i->i", m), () => einsum("ij,jk->ik", m, m),
  () => einsum("i?->i", m), () => einsum("ij->ii", m), () => einsum(3, m), () => einsum("ij,jk->ik", m, 3), () => einsum("i...j...->i", m),
]) {
  try {
    console.log("no error", call());
  } catch (e) {
    console.log(`${e.name}: ${e.message}`);
  }
}
