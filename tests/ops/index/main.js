// t.index beside NumPy's results: views, tensors of integers, masks, repeats and their gradients.
import { arange, tensor, where, zeros } from "mlrun";

const show = (what, t) => console.log(`${what}: ${t.dtype} [${t.shape}] ${JSON.stringify(t)}`);
const x = arange(24, { dtype: "float32" }).reshape([2, 3, 4]);
const i = tensor([1n, 0n]), j = tensor([[2n], [0n]]);

show("number", x.index(1, -1));
show("slices", x.index(0, "1:", "::2"));
show("cut slice", x.index(":", "-100:100", "3:1"));
show("ellipsis", x.index("...", -1));
show("new dimension", x.index(":", null, 0, null));
show("integers", x.index(0, i).index(":", 0));
show("negative integers", x.index(0, 0, tensor([-1n, 0n])));
show("int32 index", x.index(0, 0, tensor(new Int32Array([3, 3]))));
show("along the last", x.index(":", ":", i).index(0));
show("two side by side", x.index(":", i, i));
show("two that broadcast", x.index(":", i, j));
show("two apart come first", x.index(i, ":", tensor([3n, 2n])));
show("number and integers apart", x.index(0, ":", i));
show("integers and number side by side", x.index(":", i, 0));
show("a new dimension between", x.index(0, i, null, i));
show("ellipsis of nothing between", zeros([2, 3, 4]).index(":", i, "...", i));
show("slice and integers", x.index("1:", i, "1:3"));
show("mask", x.index(x.gt(19)));
show("mask of a dimension", x.index(":", tensor([true, false, true]), 0));
show("mask of two dimensions", x.index(x.select(2, 0).gt(10)));
show("mask and integers", x.index(tensor([true, true]), i).index(":", 0));
show("mask of none", x.index(x.gt(99)));
show("empty index", x.index(zeros([0], { dtype: "int64" })));
show("int64 keeps bits", tensor([2n ** 62n + 1n, 5n]).index(tensor([0n])));
const view = x.index(0, "1:");
view.mul_(0);
show("a view is written through", x.index(0));
show("all of it is a view", x.index().add_(1).index(0, 0));
show("and leaves x alone as a copy", x.index(tensor([0n])).mul_(5).index(0, 0).sub(x.index(0, 0)));

const leaf = () => arange(6, { dtype: "float32" }).reshape([2, 3]).requiresGrad_();
const gradient = (what, f) => {
  const t = leaf();
  f(t).sum().backward();
  show(what, t.grad);
};
gradient("gradient of repeats", (t) => t.index(":", tensor([1n, 1n, -1n])).mul(2));
gradient("gradient of two indices", (t) => t.index(tensor([0n, 0n, 1n]), tensor([2n, 2n, 0n])));
gradient("gradient of a mask", (t) => t.index(t.gt(2)).mul(3));
gradient("gradient of a view", (t) => t.index("...", "::2"));
gradient("gradient of gather with repeats", (t) => t.gather(1, tensor([[0n, 0n], [2n, 2n]])));
gradient("gradient of scatterAdd's source", (t) => zeros([2, 2]).scatterAdd(1, tensor([[0n, 1n, 0n], [1n, 1n, 1n]]), t).mul(tensor([1, 10])));
gradient("gradient of maskedFill", (t) => t.maskedFill(t.gt(3), 7));

show("maskedFill keeps the dtype", tensor(new Int32Array([1, 2])).maskedFill(tensor([true, false]), 1.9));
show("maskedFill of a BigInt", tensor([1n, 2n]).maskedFill(tensor([false, true]), 2n ** 62n));
show("maskedFill of a bool", tensor([1, 2]).maskedFill(tensor([false, true]), true));
show("maskedFill broadcasts", tensor(1).maskedFill(tensor([false, true]), -1));
show("where with BigInt", where(tensor([true, false]), 3n, tensor([1n, 2n])));
show("where with numbers", where(tensor([true, false]), 1, 0));
show("where with booleans", where(tensor([true, false]), true, false));
show("indexAdd", zeros([3]).indexAdd(0, tensor([2n, 0n, 2n]), tensor([1, 2, 3])));
show("diagonal", x.diagonal(1, 1, 2));
show("roll", tensor([1, 2, 3]).roll(-1, 0));
show("roll of two", tensor([[1, 2], [3, 4]]).roll([1, 1], [0, 1]));
show("roll of all", tensor([[1, 2], [3, 4]]).roll(1));
show("repeat", tensor([1, 2]).repeat(2, 2));
show("tile", tensor([[1], [2]]).tile(2));
