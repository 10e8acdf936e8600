// Reads handwritten digits: a small network learns from 1,437 images of 8x8 pixels and is
// tested on 360 others that it has never seen.
//
//     mlrun examples/digits.js [--epochs 30] [--batch 32] [--seed 1]
import { manualSeed, memoryStats, nn, noGrad, optim, randperm, tensor } from "mlrun";
import text from "./data/digits.csv" with { type: "text" };

const epochs = option("--epochs", 30);
const batchSize = option("--batch", 32);
manualSeed(option("--seed", 1));

class Classifier extends nn.Module {
  constructor() {
    super();
    this.layers = new nn.Sequential(
      new nn.Linear(64, 128),
      new nn.ReLU(),
      new nn.Linear(128, 64),
      new nn.ReLU(),
      new nn.Linear(64, 10),
    );
  }

  forward(images) {
    return this.layers.forward(images);
  }
}

// One line of the file is one image: 64 pixels from 0 to 16, then the digit.
const rows = text.trim().split("\n").map((line) => line.split(",").map(Number));
const images = tensor(rows.map((row) => row.slice(0, 64))).div(16);
const labels = tensor(rows.map((row) => row[64]), { dtype: "int64" });

const shuffled = randperm(rows.length);
const trainCount = Math.floor(rows.length * 0.8);
const train = pick(shuffled.index(`:${trainCount}`));
const test = pick(shuffled.index(`${trainCount}:`));

const model = new Classifier();
const optimizer = new optim.Adam(model.parameters(), { lr: 3e-3 });

const start = performance.now();
for (let epoch = 1; epoch <= epochs; epoch++) {
  const order = randperm(trainCount);
  let lossSum = 0;
  for (let from = 0; from < trainCount; from += batchSize) {
    const to = Math.min(from + batchSize, trainCount);
    const batch = order.index(`${from}:${to}`);
    const logits = model.forward(train.images.indexSelect(0, batch));
    const loss = nn.functional.crossEntropy(logits, train.labels.indexSelect(0, batch));
    optimizer.zeroGrad();
    loss.backward();
    optimizer.step();
    lossSum += loss.item() * (to - from);
    drawProgress((epoch - 1 + to / trainCount) / epochs, epoch, lossSum / to);
  }
  if (!process.stdout.isTTY) {
    console.log(`epoch ${epoch}/${epochs}  loss ${(lossSum / trainCount).toFixed(4)}`);
  }
}
const seconds = (performance.now() - start) / 1000;

export const accuracy = noGrad(() => {
  const guesses = model.forward(test.images).argmax(1);
  return guesses.eq(test.labels).sum().item() / test.labels.size;
});
if (process.stdout.isTTY) console.log();
console.log(`test accuracy ${(100 * accuracy).toFixed(1)} % on ${test.labels.size} images`);
console.log(`${seconds.toFixed(2)} s, at most ${megabytes(memoryStats().peakBytes)} of tensors`);

/** The images and labels at `indices`. */
function pick(indices) {
  return { images: images.indexSelect(0, indices), labels: labels.indexSelect(0, indices) };
}

/** On a terminal, one line that is drawn over and over. */
function drawProgress(fraction, epoch, loss) {
  if (!process.stdout.isTTY) return;
  const width = 30;
  const bar = "█".repeat(Math.round(width * fraction)).padEnd(width, "░");
  process.stdout.write(`\r${bar} epoch ${epoch}/${epochs}  loss ${loss.toFixed(4)} `);
}

function megabytes(bytes) {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}

/** The positive integer after `name` on the command line. */
function option(name, otherwise) {
  const at = process.argv.indexOf(name);
  if (at === -1) return otherwise;
  const value = Number(process.argv[at + 1]);
  if (!Number.isInteger(value) || value < 1) {
    console.error(`${name}: got ${process.argv[at + 1]}, expected a positive integer`);
    process.exit(2);
  }
  return value;
}
