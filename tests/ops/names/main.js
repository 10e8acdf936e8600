// Every name of the API's chapters "Making tensors", "On a tensor" and "Gradients" is there.
import * as mlrun from "mlrun";

const words = (text) => text.trim().split(/\s+/);
const missing = [];
const need = (what, holder, names) => {
  for (const name of names) if (!(name in holder)) missing.push(`${what}.${name}`);
};

need("mlrun", mlrun, words(`
  tensor zeros ones full empty arange linspace eye randn rand randint randperm zerosLike onesLike fullLike emptyLike
  randnLike randLike randintLike bernoulli multinomial manualSeed concat stack where einsum noGrad enableGrad grad
  valueAndGrad autograd checkpoint Tensor TensorMemoryError memoryStats resetPeakMemory gc setMemoryLimit nn optim F`));
need("autograd", mlrun.autograd, words("grad Function detectAnomaly"));
need("tensor", mlrun.tensor([1]), words(`
  shape dtype device ndim size requiresGrad grad isLeaf item toArray toTypedArray data toString toJSON
  add sub mul div pow remainder floorDivide maximum minimum neg abs sign exp expm1 log log1p log2 log10 sqrt rsqrt square
  reciprocal sin cos tan asin acos atan atan2 sinh cosh tanh sigmoid relu leakyRelu elu gelu silu softplus erf floor ceil
  round trunc clamp lerp where eq ne lt le gt ge logicalAnd logicalOr logicalNot isnan isinf isfinite bitwiseAnd bitwiseOr
  bitwiseXor sum mean prod max min amax amin argmax argmin all any variance std norm logsumexp cumsum cumprod sort argsort
  topk matmul dot outer einsum tril triu diagonal reshape view flatten squeeze unsqueeze expand transpose permute T split chunk
  unbind narrow select index gather scatterAdd indexSelect indexAdd maskedFill flip roll repeat tile contiguous clone detach
  to nonzero copy_ fill_ add_ sub_ mul_ div_ zero_ backward requiresGrad_ dispose isDisposed pad`));
need("tensor", mlrun.tensor([1]), [Symbol.toPrimitive, Symbol.dispose, Symbol.iterator]);
console.log(missing.length === 0 ? "nothing is missing" : `missing: ${missing.map(String).join(", ")}`);
for (const dtype of words("float32 float16 bfloat16 float64 int8 uint8 int16 int32 int64 bool")) {
  const t = mlrun.ones([2], { dtype });
  console.log(dtype, t.dtype, JSON.stringify(t), t.toTypedArray().constructor.name);
}
