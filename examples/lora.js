// LoRA (Hu et al. 2021) on the character GPT: its weights stay, two small matrices beside each
// attention layer learn the style of the Revelation, and only these are saved.
//
//     mlrun examples/char-gpt.js --out runs/gpt
//     mlrun examples/lora.js --from runs/gpt [--steps 300] [--rank 8] [--out lora.safetensors]
import { arange, Checkpoints, io, manualSeed, nn, noGrad, optim, progress, randint, tensor } from "mlrun";
import { GPT } from "./lib/gpt.js";
import { readOptions } from "./lib/options.js";
import text from "./data/kjv-new-testament.txt" with { type: "text" };

const options = readOptions({
  from: "runs/gpt", out: "lora.safetensors", steps: 300, batch: 12, context: 64, layers: 4, heads: 4, width: 128,
  rank: 8, alpha: 16, lr: 2e-3, seed: 1, prompt: "And I saw", length: 300,
});
const { batch, context, layers, heads, width } = options;
manualSeed(options.seed);

/** A linear layer that stays as it is, and a product of two small matrices that is added to it. */
class LoRALinear extends nn.Module {
  constructor(base, rank, alpha) {
    super();
    const [outputs, inputs] = base.weight.shape;
    this.base = base.requiresGrad_(false);
    this.down = new nn.Linear(inputs, rank, { bias: false });
    this.up = new nn.Linear(rank, outputs, { bias: false });
    nn.init.zeros_(this.up.weight);
    this.scale = alpha / rank;
  }
  forward(x) {
    return this.base.forward(x).add(this.up.forward(this.down.forward(x)).mul(this.scale));
  }
}

const characters = [...new Set(text)].sort();
const code = new Map(characters.map((c, i) => [c, i]));
const revelation = text.slice(text.indexOf("The Revelation of Jesus Christ"));
const codes = tensor(Int32Array.from(revelation, (c) => code.get(c))).to("int64");
const split = Math.floor(0.9 * codes.size);
const parts = { train: codes.narrow(0, 0, split), test: codes.narrow(0, split, codes.size - split) };
function draw(part, n = batch) {
  const at = randint(part.size - context, [n, 1]).add(arange(context));
  return [part.index(at), part.index(at.add(1))];
}

const model = new GPT({ vocabulary: characters.length, context, layers, heads, width });
const found = new Checkpoints(options.from).load({ model });
console.log(found ? `weights after ${found.step} steps` : `no checkpoint in ${options.from}, going on from random weights`);
model.requiresGrad_(false);
for (const block of model.blocks) block.attn.qkv = new LoRALinear(block.attn.qkv, options.rank, options.alpha);

const trained = model.namedParameters().filter(([, p]) => p.requiresGrad);
const sum = (list) => list.reduce((n, [, p]) => n + p.size, 0);
console.log(`${sum(trained)} of ${sum(model.namedParameters())} parameters are trained`);
const test = draw(parts.test, 64);
const testLoss = () => noGrad(() => model.loss(...test).item());
const before = testLoss();
const optimizer = new optim.AdamW(trained.map(([, p]) => p), { lr: options.lr });
for (const _ of progress(options.steps, { label: "adapting" })) {
  const loss = model.loss(...draw(parts.train));
  optimizer.zeroGrad();
  loss.backward();
  optimizer.step();
}
console.log(`loss on the rest of the Revelation: ${before.toFixed(4)} before, ${testLoss().toFixed(4)} after`);

// Only what was trained is saved; loaded on top of the same weights it gives the same model.
const names = new Set(trained.map(([name]) => name));
const adapters = Object.fromEntries(Object.entries(model.stateDict()).filter(([name]) => names.has(name)));
io.saveSafetensors(options.out, adapters);
model.loadStateDict(io.loadSafetensors(options.out), { strict: false });
console.log(`${Object.keys(adapters).length} tensors saved`);

let written = options.prompt;
const prompt = Array.from(options.prompt, (c) => code.get(c) ?? 0);
for (const c of model.eval().generate(prompt, options.length)) written += characters[c];
console.log(`\n${written}`);
