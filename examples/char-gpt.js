// Trains a character-level GPT on the King James New Testament and then writes some more of it.
//
//     mlrun examples/char-gpt.js [--steps 2000] [--out FOLDER] [--prompt TEXT] [--length 500] ...
//
// With --out it saves checkpoints there, and a run that was stopped goes on where it was.
import { arange, Checkpoints, manualSeed, memoryStats, metrics, nn, noGrad, optim, progress, randint, tensor } from "mlrun";
import { GPT } from "./lib/gpt.js";
import { readOptions } from "./lib/options.js";
import text from "./data/kjv-new-testament.txt" with { type: "text" };

const options = readOptions({
  steps: 2000, batch: 12, context: 64, layers: 4, heads: 4, width: 128, lr: 1e-3, warmup: 100,
  every: 250, seed: 1, out: "", prompt: "In the beginning", length: 500, temperature: 0.8,
});
const { steps, batch, context, layers, heads, width } = options;
manualSeed(options.seed);

const characters = [...new Set(text)].sort();
const code = new Map(characters.map((c, i) => [c, i]));
const codes = tensor(Int32Array.from(text, (c) => code.get(c))).to("int64");
const split = Math.floor(0.9 * codes.size);
const parts = { train: codes.narrow(0, 0, split), validation: codes.narrow(0, split, codes.size - split) };

/** Random pieces of a text, and the same one character further on: `[batch, context]` each. */
function draw(part) {
  const starts = randint(part.size - context, [batch, 1]);
  const at = starts.add(arange(context));
  return [part.index(at), part.index(at.add(1))];
}

const model = new GPT({ vocabulary: characters.length, context, layers, heads, width });
const optimizer = new optim.AdamW(model.parameters(), { lr: options.lr, betas: [0.9, 0.99], weightDecay: 0.1 });
const schedule = new optim.lr.SequentialLR(optimizer, [
  new optim.lr.LinearLR(optimizer, { startFactor: 0.01, totalIters: options.warmup }),
  new optim.lr.CosineAnnealingLR(optimizer, Math.max(1, steps - options.warmup), { etaMin: options.lr / 10 }),
], [options.warmup]);

const checkpoints = options.out === "" ? null : new Checkpoints(options.out, { keep: 2 });
const state = { model, optimizer, schedule };
const first = checkpoints?.load(state)?.step ?? 0;
if (first > 0) console.log(`going on after step ${first}`);
// The draws of a run that goes on are not those of its first part.
manualSeed(options.seed + first);

/** Mean loss over some pieces of the text that is not trained on. */
function evaluate() {
  model.eval();
  const mean = new metrics.Mean();
  noGrad(() => {
    for (let i = 0; i < 20; i++) mean.update(model.loss(...draw(parts.validation)).item());
  });
  model.train();
  return mean.value;
}

console.log(`${model.parameters().reduce((n, p) => n + p.size, 0)} parameters, ${codes.size} characters, ${characters.length} of them differ`);
const start = performance.now();
const bar = progress(Array.from({ length: steps - first }, (_, i) => first + i + 1), { label: "training" });
for (const step of bar) {
  const loss = model.loss(...draw(parts.train));
  optimizer.zeroGrad();
  loss.backward();
  nn.utils.clipGradNorm_(model.parameters(), 1);
  optimizer.step();
  schedule.step();
  if (step % 10 === 0) bar.set({ loss: loss.item() });
  if (step % options.every === 0 || step === steps) {
    const metric = evaluate();
    console.log(`step ${step}: loss ${loss.item().toFixed(4)}, validation ${metric.toFixed(4)}`);
    checkpoints?.save(step, state, { metric });
  }
}
const seconds = (performance.now() - start) / 1000;
console.log(`${Math.round((steps - first) * batch * context / seconds)} characters/s, at most ${(memoryStats().peakBytes / 1e6).toFixed(1)} MB of tensors`);

const began = performance.now();
const prompt = Array.from(options.prompt, (c) => code.get(c) ?? 0);
let written = options.prompt;
for (const c of model.eval().generate(prompt, options.length, options)) written += characters[c];
console.log(`\n${written}\n`);
console.log(`${Math.round(options.length / (performance.now() - began) * 1000)} characters/s written`);
