// Calls that must be refused, under the name that the user called, with nothing changed.
import {
  Tensor, arange, autograd, bernoulli, concat, full, fullLike, grad, linspace, multinomial, nn, ones, rand, randint, stack, tensor, where, zeros, zerosLike,
} from "mlrun";

const i32 = (...v) => tensor(new Int32Array(v));
const x = zeros([2, 3]), gone = zeros([2, 3]), parameter = new nn.Parameter(ones([2]));
gone.dispose();
const table = {
  "integer division by zero": () => i32(1, 2).floorDivide(0),
  "integer remainder by zero": () => i32(1, 2).remainder(i32(1, 0)),
  "negative power of integers": () => i32(2).pow(-1),
  "a number that an integer cannot hold": () => tensor([1e300], { dtype: "int32" }),
  "NaN as an integer": () => tensor([NaN], { dtype: "int64" }),
  "300 as uint8": () => tensor(300, { dtype: "uint8" }),
  "full of NaN": () => full([2], NaN, { dtype: "int8" }),
  "full beyond the range": () => full([2], 1e300, { dtype: "int64" }),
  "fill_ with infinity": () => i32(1).fill_(Infinity),
  "linspace beyond the range": () => linspace(0, 1e300, 3, { dtype: "int32" }),
  "arange beyond the range": () => arange(0, 300, 1, { dtype: "int8" }),
  "fill_ beyond the range": () => i32(1).fill_(2 ** 31),
  "BigInt beyond int64": () => tensor([1n]).maskedFill(tensor([true]), 2n ** 64n),
  "a step of 0": () => x.index("::0"),
  "65 dimensions": () => ones(new Array(65).fill(1)),
  "a view of 65 dimensions": () => ones([1]).reshape(new Array(65).fill(1)),
  "a new dimension too many": () => ones(new Array(64).fill(1)).unsqueeze(0),
  "index out of range": () => x.index(5),
  "index tensor out of range": () => x.index(tensor([2n])),
  "negative index of indexSelect": () => x.indexSelect(1, tensor([-1n])),
  "index into a dimension without elements": () => zeros([0, 3]).index(tensor([0n])),
  "indexCopy at rows of rows": () => x.indexCopy(0, tensor([[0n, 1n]]), x),
  "more indices than can be": () => x.indexPut_(new Array(3e7), 1),
  "more extents than can be": () => x.reshape(new Array(3e7)),
  "gather out of range": () => x.gather(1, tensor([[3n]])),
  "float index": () => x.index(tensor([0.5])),
  "mask of another shape": () => x.index(tensor([true])),
  "indices that do not broadcast": () => x.index(tensor([0n, 1n]), tensor([0n, 1n, 2n])),
  "too many indices": () => x.index(0, 0, 0),
  "two ellipses": () => x.index("...", "..."),
  "a spec that is none": () => x.index({}),
  "narrow": () => x.narrow(1, 2, 5),
  "select": () => x.select(0, 2),
  "a stride too large": () => nn.functional.conv2d(zeros([1, 1, 4, 4]), zeros([1, 1, 2, 2]), null, { stride: 2 ** 41 }),
  "a stride too small": () => nn.functional.conv1d(zeros([1, 1, 4]), zeros([1, 1, 2]), null, { stride: 0 }),
  "a window too large": () => nn.functional.maxPool2d(zeros([1, 1, 4, 4]), 2 ** 31),
  "a kernel of extent 0": () => nn.functional.conv2d(zeros([1, 1, 4, 4]), zeros([1, 1, 0, 2])),
  "a transposed kernel of extent 0": () => nn.functional.convTranspose2d(zeros([1, 1, 4, 4]), zeros([1, 1, 0, 2])),
  "dot": () => ones([2]).dot(ones([3])),
  "add_ of a disposed tensor": () => x.add_(gone),
  "add_ to a disposed tensor": () => gone.add_(1),
  "add_ to a parameter": () => parameter.add_(1),
  "add_ to a reshaped parameter": () => parameter.reshape([2, 1]).add_(1),
  "add_ of a larger shape": () => zeros([3]).add_(x),
  "add_ of another dtype": () => i32(1).add_(0.5),
  "add_ on an expanded tensor": () => zeros([1]).expand(4).add_(1),
  "copy_ on an expanded tensor": () => zeros([1]).expand(4).copy_(ones([4])),
  "zero_ on an expanded tensor": () => zeros([2, 1]).expand(2, 3).zero_(),
  "flip twice": () => x.flip([0, -2]),
  "roll with too many shifts": () => x.roll([1, 2], 0),
  "roll without dims": () => x.roll([1, 2]),
  "repeat with too few counts": () => x.repeat(2),
  "negative repeat": () => x.repeat(2, -1),
  "stack of other shapes": () => stack([x, zeros([3])]),
  "concat of other shapes": () => concat([x, zeros([3, 2])]),
  "topk of too many": () => x.topk(4),
  "sort's unknown option": () => x.sort(0, { reverse: true }),
  "sort's dim": () => x.sort(2),
  "cumsum without a dim": () => x.cumsum(),
  "norm of integers": () => i32(1).norm(),
  "variance of integers": () => i32(1).variance(),
  "max of nothing": () => zeros([0]).max(),
  "maskedFill without a bool": () => x.maskedFill(x, 1),
  "maskedFill of a vector": () => x.maskedFill(x.gt(0), ones([3])),
  "maskedFill without a value": () => x.maskedFill(x.gt(0)),
  "where of a float": () => where(x, 1, 0),
  "multinomial of too many": () => multinomial(tensor([1, 0]), 2),
  "multinomial of negatives": () => multinomial(tensor([1, -1]), 1),
  "bernoulli above 1": () => bernoulli(tensor([2])),
  "rand of integers": () => rand([2], { dtype: "int32" }),
  "arange the wrong way": () => arange(1, 5, -1),
  "linspace of negative steps": () => linspace(0, 1, -1),
  "arange of a string": () => arange(0, 10, "2"),
  "arange by nothing": () => arange(0, 10, 0),
  "clamp to a string": () => x.clamp("3"),
  "clamp to an object": () => x.clamp(0, {}),
  "clamp to nothing": () => x.clamp(null, null),
  "clamp to another shape": () => x.clamp(zeros([5])),
  "lerp of another shape": () => x.lerp(x, zeros([5])),
  "softplus of a string": () => x.softplus({ beta: "3" }),
  "elu of a string": () => x.elu("1"),
  "leakyRelu of null": () => x.leakyRelu(null),
  "split into fractions": () => x.split(1.5),
  "randint that int8 cannot hold": () => randint(0, 1000, [2], { dtype: "int8" }),
  "a dim beyond 2^53": () => x.sum(1e300),
  "interpolate by an object": () => nn.functional.interpolate(zeros([1, 1, 2]), { scaleFactor: {} }),
  "interpolate by an inherited name": () => nn.functional.interpolate(zeros([1, 1, 2]), { size: 4, mode: "constructor" }),
  "class index below 0": () => nn.functional.crossEntropy(x, tensor([0n, -1n])),
  "class index below 0 of nllLoss": () => nn.functional.nllLoss(x, tensor([0n, -1n])),
  "negative index of embedding": () => nn.functional.embedding(tensor([-1n]), x),
  "a class whose getter throws": () => x.add({ get constructor() { throw new Error("getter"); } }),
  "detached data": () => {
    const data = new Float32Array(4);
    data.buffer.transfer();
    return tensor(data);
  },
  "zerosLike of a number": () => zerosLike(3),
  "a text as accumulate": () => x.indexPut_([0], 1, { accumulate: "yes" }),
  "a number as keepdim": () => x.sum(0, { keepdim: 1 }),
  "null as largest": () => x.topk(1, 0, { largest: null }),
  "a number as bias": () => new nn.Linear(1, 1, { bias: 0 }),
  "a text as requiresGrad": () => zeros([1], { requiresGrad: "no" }),
  "a text for requiresGrad_": () => zeros([1]).requiresGrad_("no"),
  "a number set as requiresGrad": () => {
    zeros([1]).requiresGrad = 1;
  },
  "a text as mode": () => new nn.Linear(1, 1).train("off"),
  "add with a scale": () => x.add(x, { alpha: 2 }),
  "div_ with a rounding": () => x.div_(2, { roundingMode: "floor" }),
  "round to digits": () => x.round(2),
  "zero_ with a value": () => x.zero_(5),
  "squeeze of numbers": () => x.squeeze(0, 1),
  "indexAdd with a scale": () => x.indexAdd(0, tensor([0n]), ones([1, 3]), { alpha: 2 }),
  "item of an index": () => ones([1]).item(0),
  "cumsum with options": () => x.cumsum(0, { reverse: true }),
  "unknown option": () => fullLike(x, 1, { size: 2 }),
  "diagonal of one dim": () => x.diagonal(0, 1, 1),
  "a method on no tensor": () => Tensor.prototype.add.call({}, 1),
  "a getter on no tensor": () => Object.create(x).shape,
  "structuredClone": () => structuredClone({ x }),
  "gradient of integers": () => autograd.grad(i32(1).sum(), i32(1)),
  "an input that plays no part": () => autograd.grad(ones([1]).requiresGrad_().sum(), ones([1]).requiresGrad_()),
  "grad of no scalar": () => grad((t) => t)(ones([2])),
};
for (const [what, call] of Object.entries(table)) {
  try {
    const got = call();
    console.log(`${what}: no error, got ${got instanceof Tensor ? got : typeof got}`);
  } catch (e) {
    console.log(`${what}: ${e.name}: ${e.message}`);
  }
}
console.log("true division of integers by zero", JSON.stringify(i32(1, 0).div(0).toArray().map(String)));
console.log("division of nothing by zero", `[${i32().remainder(0).shape}]`);
console.log("wraps as PyTorch", JSON.stringify(tensor([-1, 1.9], { dtype: "uint8" })));
console.log("NaN is true", JSON.stringify(tensor([NaN, 0], { dtype: "bool" })));
console.log("JSON", JSON.stringify({ a: tensor([[1, NaN]]), b: tensor([2n ** 62n, 1n]), c: tensor([true]), d: tensor(3) }));
console.log("steps beyond any extent", JSON.stringify([x.index("::-9223372036854775808"), x.index(":", "::9223372036854775808")]));
console.log("flip of numbers", JSON.stringify(tensor([[1, 2], [3, 4]]).flip(0, 1)));
console.log("x is as before", JSON.stringify(x));
console.log(String(ones([1]).expand([1_000_000, 1_000_000])));
