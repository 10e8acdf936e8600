// Every name of the API is there.
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
  unbind narrow select index gather scatterAdd indexSelect indexAdd indexCopy indexPut indexPut_ maskedFill flip roll repeat tile contiguous clone detach
  to nonzero copy_ fill_ add_ sub_ mul_ div_ zero_ backward requiresGrad_ dispose isDisposed pad`));
need("tensor", mlrun.tensor([1]), [Symbol.toPrimitive, Symbol.dispose, Symbol.iterator]);
need("mlrun", mlrun, words("data metrics summary progress nextTurn io keep tidy Checkpoints"));
need("nn", mlrun.nn, words(`
  Parameter Module init functional utils Linear Conv1d Conv2d ConvTranspose2d Embedding LayerNorm RMSNorm BatchNorm1d BatchNorm2d
  GroupNorm Dropout Sequential ModuleList MaxPool2d AvgPool2d MultiheadAttention TransformerEncoderLayer LSTM GRU RNN
  ReLU GELU SiLU Sigmoid Tanh LeakyReLU ELU Softplus Softmax LogSoftmax Identity Flatten
  CrossEntropyLoss NLLLoss MSELoss L1Loss SmoothL1Loss BCEWithLogitsLoss`));
need("nn.Module", mlrun.nn.Module.prototype, words(`
  forward registerBuffer parameters namedParameters stateDict loadStateDict train eval to buffers namedBuffers modules namedModules
  children namedChildren getSubmodule apply requiresGrad_ zeroGrad registerForwardHook registerForwardPreHook extraRepr`));
need("F", mlrun.F, words(`
  linear conv1d conv2d softmax logSoftmax crossEntropy nllLoss mseLoss l1Loss smoothL1Loss bceWithLogits layerNorm rmsNorm
  batchNorm groupNorm dropout embedding oneHot maxPool2d avgPool2d scaledDotProductAttention pad interpolate relu gelu silu sigmoid
  tanh leakyRelu elu softplus convTranspose2d`));
need("nn.init", mlrun.nn.init, words(`
  uniform_ normal_ constant_ zeros_ ones_ eye_ truncNormal_ xavierUniform_ xavierNormal_ kaimingUniform_ kaimingNormal_ orthogonal_
  calculateGain`));
need("nn.utils", mlrun.nn.utils, words("clipGradNorm_ clipGradValue_ parametersToVector vectorToParameters"));
need("optim", mlrun.optim, words("SGD Adam AdamW RMSprop Adagrad Lion EMA lr"));
need("optim.Optimizer", mlrun.optim.SGD.prototype, words("step zeroGrad stateDict loadStateDict addParamGroup"));
need("optim.lr", mlrun.optim.lr, words(`
  StepLR MultiStepLR ExponentialLR LinearLR ConstantLR CosineAnnealingLR CosineAnnealingWarmRestarts LambdaLR OneCycleLR
  ReduceLROnPlateau SequentialLR`));
need("data", mlrun.data, words("Dataset TensorDataset Subset DataLoader randomSplit collate csvToTensor parseCsv readCsv"));
need("metrics", mlrun.metrics, words("accuracy confusionMatrix precisionRecall Mean"));
need("io", mlrun.io, words("loadSafetensors saveSafetensors loadNpy saveNpy loadNpz saveNpz safetensorsHeader"));
console.log(missing.length === 0 ? "nothing is missing" : `missing: ${missing.map(String).join(", ")}`);
for (const dtype of words("float32 float16 bfloat16 float64 int8 uint8 int16 int32 int64 bool")) {
  const t = mlrun.ones([2], { dtype });
  console.log(dtype, t.dtype, JSON.stringify(t), t.toTypedArray().constructor.name);
}

// What PyTorch's documentation names as defaults, as the objects show them.
const { nn, optim } = mlrun, p = [new nn.Parameter(mlrun.ones([1]))];
const layers = [
  new nn.Linear(2, 3), new nn.Conv1d(2, 4, 3), new nn.Conv2d(2, 4, 3), new nn.ConvTranspose2d(2, 4, 3), new nn.Embedding(5, 2), new nn.LayerNorm(4),
  new nn.RMSNorm(4), new nn.BatchNorm1d(4), new nn.BatchNorm2d(4), new nn.GroupNorm(2, 4), new nn.Dropout(), new nn.MaxPool2d(2), new nn.AvgPool2d(2),
  new nn.MultiheadAttention(4, 2), new nn.TransformerEncoderLayer(4, 2), new nn.LSTM(2, 3), new nn.GRU(2, 3), new nn.RNN(2, 3), new nn.ReLU(), new nn.GELU(), new nn.LeakyReLU(),
  new nn.ELU(), new nn.Softplus(), new nn.Flatten(),
];
for (const layer of layers) console.log(String(layer));
for (const make of [optim.SGD, optim.Adam, optim.AdamW, optim.RMSprop, optim.Adagrad, optim.Lion]) {
  const { paramGroups: [{ params, ...rest }] } = new make(p);
  console.log(make.name, JSON.stringify(rest));
}

// First values: their spread is what PyTorch's formulas say.
mlrun.manualSeed(1);
const spread = (t) => [t.detach().amin().item(), t.detach().amax().item(), t.detach().std().item()];
const near = (name, t, low, high, std) => {
  const [a, b, s] = spread(t);
  const fits = a >= low - 1e-6 && b <= high + 1e-6 && Math.abs(s - std) < 0.1 * std + 1e-6;
  console.log(name, fits ? "as documented" : `from ${a} to ${b} with deviation ${s}, expected ${low} to ${high} with ${std}`);
};
const uniform = (name, t, bound) => near(name, t, -bound, bound, bound / Math.sqrt(3));
const big = new nn.Linear(64, 128), conv = new nn.Conv2d(16, 32, 3), mha = new nn.MultiheadAttention(64, 4), lstm = new nn.LSTM(16, 64);
uniform("Linear weight", big.weight, 1 / 8);
uniform("Linear bias", big.bias, 1 / 8);
uniform("Conv2d weight", conv.weight, 1 / 12);
uniform("ConvTranspose2d weight", new nn.ConvTranspose2d(16, 32, 3).weight, 1 / Math.sqrt(32 * 9));
near("Embedding weight", new nn.Embedding(64, 64).weight, -6, 6, 1);
uniform("MultiheadAttention inProjWeight", mha.inProjWeight, Math.sqrt(6 / (4 * 64)));
uniform("MultiheadAttention outProj.weight", mha.outProj.weight, 1 / 8);
near("MultiheadAttention inProjBias", mha.inProjBias, 0, 0, 0);
near("MultiheadAttention outProj.bias", mha.outProj.bias, 0, 0, 0);
uniform("LSTM weightIhL0", lstm.weightIhL0, 1 / 8);
uniform("LSTM biasHhL0", lstm.biasHhL0, 1 / 8);
near("LayerNorm weight", new nn.LayerNorm(8).weight, 1, 1, 0);
near("BatchNorm2d runningVar", new nn.BatchNorm2d(8).runningVar, 1, 1, 0);
