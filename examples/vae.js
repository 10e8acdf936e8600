// A variational autoencoder (Kingma and Welling 2014) of handwritten digits of 8x8 pixels: learns
// two numbers per image, and draws new digits from numbers of its own.
//
//     mlrun examples/vae.js [--epochs 60] [--latent 2]
import { data, manualSeed, metrics, nn, noGrad, optim, progress, randn, randnLike } from "mlrun";
import { readOptions } from "./lib/options.js";
import text from "./data/digits.csv" with { type: "text" };

const F = nn.functional;
const options = readOptions({ epochs: 60, batch: 64, latent: 2, hidden: 128, lr: 2e-3, seed: 1 });
manualSeed(options.seed);

class VAE extends nn.Module {
  constructor(pixels, hidden, latent) {
    super();
    this.encode = new nn.Sequential(new nn.Linear(pixels, hidden), new nn.ReLU(), new nn.Linear(hidden, 2 * latent));
    this.decode = new nn.Sequential(new nn.Linear(latent, hidden), new nn.ReLU(), new nn.Linear(hidden, pixels));
  }
  forward(x) {
    const [mean, logVariance] = this.encode.forward(x).chunk(2, 1);
    const z = mean.add(logVariance.mul(0.5).exp().mul(randnLike(mean)));
    return { logits: this.decode.forward(z), mean, logVariance };
  }
}

/** Bits that the image and its code cost, per image: what training makes small. */
function cost({ logits, mean, logVariance }, x) {
  const picture = F.bceWithLogits(logits, x, { reduction: "sum" });
  const code = mean.square().add(logVariance.exp()).sub(1).sub(logVariance).sum().mul(0.5);
  return picture.add(code).div(x.shape[0]);
}

const images = data.csvToTensor(text, { header: false, columns: Array.from({ length: 64 }, (_, i) => i) }).div(16);
const [train, test] = data.randomSplit(new data.TensorDataset(images), [0.9, 0.1], { seed: options.seed });
const model = new VAE(64, options.hidden, options.latent);
const optimizer = new optim.Adam(model.parameters(), { lr: options.lr });
const loader = new data.DataLoader(train, { batchSize: options.batch, shuffle: true, seed: options.seed });
const bar = progress(options.epochs, { label: "epochs" });
for (const epoch of bar) {
  const mean = new metrics.Mean();
  for (const [x] of loader) {
    const loss = cost(model.forward(x), x);
    optimizer.zeroGrad();
    loss.backward();
    optimizer.step();
    mean.update(loss.item(), x.shape[0]);
  }
  bar.set({ loss: mean.value });
  if ((epoch + 1) % 10 === 0) console.log(`epoch ${epoch + 1}/${options.epochs}  loss ${mean.value.toFixed(3)}`);
}

const [x] = test.getBatch(Array.from({ length: test.length }, (_, i) => i));
export const testLoss = noGrad(() => cost(model.forward(x), x).item());
console.log(`test loss ${testLoss.toFixed(3)}`);
const drawn = noGrad(() => model.decode.forward(randn([4, options.latent])).sigmoid().reshape([4, 8, 8]).toArray());
for (let row = 0; row < 8; row++) console.log(drawn.map((image) => image[row].map((v) => " .:-=+*#%@"[Math.min(9, Math.floor(v * 10))].repeat(2)).join("")).join("   "));
