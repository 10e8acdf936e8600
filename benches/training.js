// One case of training.py on mlrun's side: `mlrun benches/training.js CASE SECONDS` repeats a step
// for so long and prints items per second, peak bytes and the share of bytes that the pass released.
import { memoryStats, nn, noGrad, optim, randint, randn, resetPeakMemory } from "mlrun";
import { GPT } from "../examples/lib/gpt.js";
import { MiniLM } from "../examples/minilm.js";

const F = nn.functional;

function charGpt() {
  const [batch, context, vocabulary] = [12, 64, 65];
  const model = new GPT({ vocabulary, context, layers: 4, heads: 4, width: 128 });
  const optimizer = new optim.AdamW(model.parameters(), { lr: 1e-3, betas: [0.9, 0.95], weightDecay: 0.1 });
  const x = randint(vocabulary, [batch, context]), y = randint(vocabulary, [batch, context]);
  return [batch * context, () => {
    const loss = model.loss(x, y);
    optimizer.zeroGrad();
    loss.backward();
    nn.utils.clipGradNorm_(model.parameters(), 1);
    optimizer.step();
    loss.item();
  }];
}

function cnn() {
  const model = new nn.Sequential(
    new nn.Conv2d(1, 16, 3, { padding: 1 }), new nn.BatchNorm2d(16), new nn.ReLU(), new nn.MaxPool2d(2),
    new nn.Conv2d(16, 32, 3, { padding: 1 }), new nn.BatchNorm2d(32), new nn.ReLU(), new nn.MaxPool2d(2),
    new nn.Flatten(), new nn.Dropout(0.25), new nn.Linear(32 * 7 * 7, 128), new nn.ReLU(), new nn.Linear(128, 10),
  );
  const optimizer = new optim.Adam(model.parameters());
  const x = randn([64, 1, 28, 28]), y = randint(10, [64]);
  return [64, () => {
    const loss = F.crossEntropy(model.forward(x), y);
    optimizer.zeroGrad();
    loss.backward();
    optimizer.step();
    loss.item();
  }];
}

function minilm(batch, length) {
  const model = new MiniLM({
    hidden_size: 384, num_attention_heads: 12, intermediate_size: 1536, num_hidden_layers: 6, vocab_size: 30522,
    max_position_embeddings: 512, type_vocab_size: 2, layer_norm_eps: 1e-12,
  }).eval();
  const ids = randint(1000, 20000, [batch, length]);
  return [batch, () => noGrad(() => model.forward(ids).sum().item())];
}

const cases = { "char-gpt": charGpt, cnn, "minilm-32x128": () => minilm(32, 128), "minilm-1x16": () => minilm(1, 16) };
const [name, seconds] = process.argv.slice(2);
const [items, step] = cases[name]();
for (let i = 0; i < 3; i++) step();
resetPeakMemory();
const before = memoryStats().released, start = performance.now();
let steps = 0;
while (performance.now() - start < Number(seconds) * 1000) {
  step();
  steps++;
}
const rate = steps * items / (performance.now() - start) * 1000;
const { released, peakBytes } = memoryStats();
const freed = ["byPass", "byMinorGC", "byMajorGC"].map((k) => released[k].bytes - before[k].bytes);
console.log(JSON.stringify({ rate, peakBytes, byPass: freed[0] / freed.reduce((a, b) => a + b, 0) }));
