// nn.functional: errors, dtypes, edges, randomness, memory, and faults that others had.
import { F, arange, autograd, manualSeed, memoryStats, noGrad, ones, randn, resetPeakMemory, tensor, zeros } from "mlrun";

function fails(name, f) {
  try {
    f();
    console.log(`${name}: no error`);
  } catch (e) {
    console.log(`${name}: ${e.name}: ${e.message}`);
  }
}
const int64 = (v) => tensor(v.map(BigInt));

manualSeed(5);
const image = randn([2, 4, 5, 5]), kernel = randn([6, 4, 3, 3]);
fails("channels", () => F.conv2d(image, randn([6, 3, 3, 3])));
fails("groups", () => F.conv2d(image, randn([6, 1, 3, 3]), null, { groups: 4 }));
fails("bias", () => F.conv2d(image, kernel, randn([5])));
fails("large kernel", () => F.conv2d(image, randn([6, 4, 7, 3])));
fails("rank", () => F.conv2d(randn([5, 5]), kernel));
fails("dtypes", () => F.conv2d(image.to("float64"), kernel));
fails("integers", () => F.conv2d(image.to("int64"), kernel.to("int64")));
fails("stride 0", () => F.conv2d(image, kernel, null, { stride: 0 }));
fails("padding name", () => F.conv2d(image, kernel, null, { padding: "full" }));
fails("same with stride", () => F.conv2d(image, kernel, null, { padding: "same", stride: 2 }));
fails("unknown option", () => F.conv2d(image, kernel, null, { pad: 1 }));
fails("output padding", () => F.convTranspose2d(image, randn([4, 2, 3, 3]), null, { outputPadding: 1 }));
fails("pool padding", () => F.maxPool2d(image, 2, { padding: 2 }));
fails("pool rank", () => F.avgPool2d(randn([5, 5]), 2));
fails("normalized shape", () => F.layerNorm(image, [4]));
fails("norm weight", () => F.layerNorm(image, [5], randn([4])));
fails("norm of integers", () => F.layerNorm(arange(6), 6).sum() && F.layerNorm(int64([1, 2]), [2]));
fails("channel groups", () => F.groupNorm(image, 3));
fails("one value", () => F.batchNorm(randn([1, 3]), null, null, null, null, { training: true }));
fails("no statistics", () => F.batchNorm(randn([2, 3]), null, null));
fails("running shape", () => F.batchNorm(randn([2, 3]), zeros([4]), ones([3])));
fails("target shape", () => F.crossEntropy(randn([3, 4]), int64([0, 1])));
fails("target class", () => F.crossEntropy(randn([2, 4]), int64([0, 4])));
fails("target dtype", () => F.nllLoss(randn([2, 4]), randn([2])));
fails("class weights", () => F.crossEntropy(randn([2, 4]), int64([0, 1]), { weight: randn([3]) }));
fails("smoothing", () => F.crossEntropy(randn([2, 4]), int64([0, 1]), { labelSmoothing: 2 }));
fails("reduction", () => F.mseLoss(image, image, { reduction: "max" }));
fails("bce shapes", () => F.bceWithLogits(randn([2, 3]), randn([3])));
fails("attention shapes", () => F.scaledDotProductAttention(randn([2, 5, 4]), randn([2, 6, 3]), randn([2, 6, 4])));
fails("mask shape", () => F.scaledDotProductAttention(randn([5, 4]), randn([6, 4]), randn([6, 4]), { attnMask: ones([5, 5]) }));
fails("mask and causal", () => F.scaledDotProductAttention(randn([5, 4]), randn([5, 4]), randn([5, 4]), { attnMask: ones([5, 5]), isCausal: true }));
fails("odd paddings", () => F.pad(image, [1]));
fails("reflection", () => F.pad(image, [5, 0], { mode: "reflect" }));
fails("too much cut", () => F.pad(image, [-3, -3]));
fails("sizes", () => F.interpolate(image, { size: 3, scaleFactor: 2 }));
fails("mode", () => F.interpolate(image, { size: 3, mode: "linear" }));
fails("class index", () => F.oneHot(int64([0, 5]), 3));
fails("negative class", () => F.oneHot(int64([-1])));
fails("embedding index", () => F.embedding(int64([4]), randn([4, 2])));
fails("padding row", () => F.embedding(int64([0]), randn([4, 2]), { paddingIdx: 4 }));
fails("probability", () => F.dropout(image, 1.5));

// Halves compute in float32 and are rounded once; other float dtypes stay.
for (const dtype of ["float16", "bfloat16", "float64"]) {
  const x = image.to(dtype).requiresGrad_(), w = kernel.to(dtype), mask = zeros([5, 5], { dtype });
  const results = [
    F.conv2d(x, w), F.maxPool2d(x, 2), F.avgPool2d(x, 2), F.layerNorm(x, [5]), F.rmsNorm(x, [5]), F.groupNorm(x, 2), F.softmax(x, 1),
    F.batchNorm(x, null, null, null, null, { training: true }), F.scaledDotProductAttention(x, x, x, { attnMask: mask }),
    F.dropout(x, 0.5), F.pad(x, [1, 1]), F.interpolate(x, { size: 3, mode: "bilinear" }), F.bceWithLogits(x, x.detach()), F.smoothL1Loss(x, w.sum()),
  ];
  results.map((t) => t.sum()).reduce((a, b) => a.add(b)).backward();
  const wide = F.conv2d(image.to(dtype).to("float32"), w.to("float32")).to(dtype);
  const close = results[0].sub(wide).abs().max().item() <= 0.05;
  console.log(`${dtype}: ${results.every((t) => t.dtype === dtype)} ${x.grad.dtype} ${x.grad.isfinite().all().item()} ${close}`);
}

// Dropout: the share, the scale, its gradient, the seed, and nothing outside training.
{
  const x = ones([100000]).requiresGrad_();
  manualSeed(1);
  const y = F.dropout(x, 0.25);
  y.sum().backward();
  const kept = y.ne(0).sum().item();
  console.log(`dropout keeps ${Math.abs(kept - 75000) < 600}, scales ${Math.abs(y.max().item() - 1 / 0.75) < 1e-6}, same gradient ${x.grad.eq(y).all().item()}`);
  manualSeed(1);
  console.log(`seed ${F.dropout(x, 0.25).eq(y).all().item()}, next differs ${F.dropout(x, 0.25).ne(y).any().item()}`);
  console.log(`p 1 ${F.dropout(x, 1).abs().sum().item()}, eval ${F.dropout(x, 0.25, { training: false }).eq(x).all().item()}`);
}

// Silu at 0 and far from it, with gradients.
{
  const x = tensor([0, 100, -1e30, Infinity]).requiresGrad_();
  const y = x.silu();
  y.sum().backward();
  console.log("silu", y.toArray().join(" "), "|", x.grad.narrow(0, 0, 3).toArray().join(" "));
}

// The tail that no window covers gets a gradient of 0: k 4, stride 4, length 1603.
{
  const x = ones([1, 1, 1603]).requiresGrad_(), w = tensor([1, 2, 3, 4]).reshape([1, 1, 4]).requiresGrad_();
  const y = F.conv1d(x, w, null, { stride: 4 });
  y.sum().backward();
  console.log("tail", y.shape.join(), x.grad.narrow(2, 1598, 5).reshape([-1]).toArray().join(" "), w.grad.reshape([-1]).toArray().join(" "));
}

// Matrix gradient: the peak is near the three matrices and two gradients.
{
  const [m, k, n] = [2048, 256, 4096];
  const a = randn([m, k]).requiresGrad_(), b = randn([k, n]).requiresGrad_();
  resetPeakMemory();
  const before = memoryStats().liveBytes;
  a.matmul(b).sum().backward();
  const grown = memoryStats().peakBytes - before, least = 4 * (m * k + k * n + m * n);
  console.log(`matmul gradient within ${grown <= 1.05 * least}`);
}

// Attention holds no matrix of weights: 8 heads of 1024 x 1024 would take 33 MB.
{
  const [q, k, v] = [1, 2, 3].map(() => randn([8, 1024, 16]).requiresGrad_());
  resetPeakMemory();
  const before = memoryStats().liveBytes;
  F.scaledDotProductAttention(q, k, v, { isCausal: true }).sum().backward();
  console.log(`attention below 4 MB ${memoryStats().peakBytes - before < 4e6}`);
}

// Many backward passes through expand give equal bits.
{
  const x = randn([1, 64]), w = randn([64, 64]);
  const run = () => {
    const leaf = x.detach().requiresGrad_();
    F.layerNorm(leaf.expand([300, 64]).matmul(w), [64]).square().sum().backward();
    return leaf.grad;
  };
  const first = run();
  let equal = true;
  for (let i = 0; i < 80; i++) equal &&= run().eq(first).all().item();
  console.log(`80 passes equal ${equal}`);
}

// NaN answers are the same for every length.
{
  const at = [];
  for (let n = 1; n <= 17; n++) {
    const x = tensor(Array.from({ length: n }, (_, i) => (i === n - 1 ? NaN : i)));
    const all = [F.softmax(x, 0), F.logSoftmax(x, 0), F.layerNorm(x, [n]), F.rmsNorm(x, [n])];
    at.push(all.every((t) => t.isnan().all().item()));
  }
  console.log(`NaN in rows of 1 to 17 ${at.every(Boolean)}`);
  const odd = F.softmax(tensor([[-Infinity, 0], [-Infinity, -Infinity]]), 1);
  console.log("softmax of -infinity", odd.reshape([-1]).toArray().join(" "));
}

// Nothing inside: sizes 0.
{
  const empty = zeros([0, 4]).requiresGrad_(), w = ones([4]).requiresGrad_();
  F.layerNorm(empty, [4], w).sum().backward();
  console.log("empty", empty.grad.shape.join(), w.grad.toArray().join(" "), F.scaledDotProductAttention(zeros([2, 0, 3]), zeros([2, 5, 3]), ones([2, 5, 3])).shape.join(),
    F.scaledDotProductAttention(zeros([2, 2, 3]), zeros([2, 0, 3]), ones([2, 0, 3])).sum().item(), F.embedding(zeros([0], { dtype: "int64" }), ones([3, 2])).shape.join(),
    F.conv2d(zeros([0, 4, 5, 5]), kernel).shape.join(), F.maxPool2d(zeros([0, 4, 4]), 2).shape.join());
}

// A fused gradient and the composed one agree, and a frozen part costs no gradient.
{
  const x = randn([40, 33]).requiresGrad_(), w = randn([33]).requiresGrad_();
  const y = F.softmax(F.layerNorm(x, [33], w), 1).mul(randn([40, 33]));
  const [fused] = autograd.grad(y.sum(), x, { retainGraph: true });
  const [composed] = autograd.grad(y.sum(), x, { createGraph: true });
  console.log(`fused and composed ${fused.sub(composed).abs().max().item() < 1e-5}`);
  const z = noGrad(() => F.conv2d(image, kernel));
  console.log(`frozen ${z.requiresGrad}`);
}

// Output padding may reach the stride where the dilation is larger. The result is linear in the
// input: its gradient is what each unit vector gives.
{
  const options = { stride: 1, dilation: 2, outputPadding: 1, padding: 1 };
  const x = randn([1, 2, 3, 2], { dtype: "float64" }).requiresGrad_();
  const w = randn([2, 3, 2, 2], { dtype: "float64" }).requiresGrad_();
  const y = F.convTranspose2d(x, w, null, options);
  const g = randn(y.shape, { dtype: "float64" });
  y.backward(g);
  let worst = 0;
  const unit = (like, i) => zeros(like.shape, { dtype: "float64" }).flatten().indexAdd(0, tensor([i], { dtype: "int64" }), ones([1], { dtype: "float64" })).reshape(like.shape);
  for (let i = 0; i < x.size; i++) {
    const want = F.convTranspose2d(unit(x, i), w.detach(), null, options).mul(g).sum().item();
    worst = Math.max(worst, Math.abs(want - x.grad.flatten().index(i).item()));
  }
  for (let i = 0; i < w.size; i++) {
    const want = F.convTranspose2d(x.detach(), unit(w, i), null, options).mul(g).sum().item();
    worst = Math.max(worst, Math.abs(want - w.grad.flatten().index(i).item()));
  }
  console.log("transposed with output padding", y.shape, worst < 1e-12);
}
