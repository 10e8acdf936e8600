// A character LSTM: reads the King James New Testament piece by piece, carrying its state from
// one piece to the next, and then writes.
//
//     mlrun examples/lstm.js [--steps 1000] [--hidden 256] [--length 300]
import { manualSeed, nn, noGrad, optim, progress, rand, tensor } from "mlrun";
import { readOptions } from "./lib/options.js";
import text from "./data/kjv-new-testament.txt" with { type: "text" };

const options = readOptions({ steps: 1000, batch: 32, window: 50, hidden: 256, layers: 2, lr: 2e-3, seed: 1, length: 300, prompt: "And he said", every: 100 });
const { batch, window } = options;
manualSeed(options.seed);

const characters = [...new Set(text)].sort();
const code = new Map(characters.map((c, i) => [c, i]));

class CharLSTM extends nn.Module {
  constructor(vocabulary, hidden, layers) {
    super();
    this.embedding = new nn.Embedding(vocabulary, 64);
    this.lstm = new nn.LSTM(64, hidden, { numLayers: layers, batchFirst: true });
    this.head = new nn.Linear(hidden, vocabulary);
  }
  forward(ids, state) {
    const [y, next] = this.lstm.forward(this.embedding.forward(ids), state);
    return [this.head.forward(y), next];
  }
}

// The text in `batch` columns that are read side by side.
const rows = Math.floor((text.length - 1) / batch);
const codes = Int32Array.from(text, (c) => code.get(c));
const columns = (from) => tensor(codes.subarray(from, from + batch * rows)).to("int64").reshape([batch, rows]);
const [inputs, targets] = [columns(0), columns(1)];

const model = new CharLSTM(characters.length, options.hidden, options.layers);
const optimizer = new optim.Adam(model.parameters(), { lr: options.lr });
let state = null, at = 0;
const bar = progress(Array.from({ length: options.steps }, (_, i) => i + 1), { label: "training" });
for (const step of bar) {
  if (at + window > rows) {
    state = null;
    at = 0;
  }
  const [logits, next] = model.forward(inputs.narrow(1, at, window), state);
  const loss = nn.functional.crossEntropy(logits.reshape([-1, characters.length]), targets.narrow(1, at, window).flatten());
  optimizer.zeroGrad();
  loss.backward();
  nn.utils.clipGradNorm_(model.parameters(), 1);
  optimizer.step();
  // The next piece goes on from these states, but its gradients end here.
  state = next.map((t) => t.detach());
  at += window;
  if (step % options.every === 0) console.log(`step ${step}: loss ${loss.item().toFixed(4)}`);
}

let written = options.prompt, ids = Array.from(options.prompt, (c) => code.get(c) ?? 0), memory = null;
noGrad(() => {
  for (let i = 0; i < options.length; i++) {
    const [logits, next] = model.forward(tensor([ids], { dtype: "int64" }), memory);
    memory = next;
    const noise = rand([characters.length]).log().neg().log().neg();
    const pick = Number(logits.select(1, -1).flatten().div(0.7).add(noise).argmax().item());
    written += characters[pick];
    ids = [pick];
  }
});
console.log(`\n${written}`);
