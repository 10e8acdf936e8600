// Datasets, loaders, CSV, metrics and progress.
import { arange, data, metrics, nextTurn, ones, progress, tensor, zeros } from "mlrun";

const refused = (what, f) => {
  try {
    console.log(what, f());
  } catch (e) {
    console.log(`${what}: ${e.name}: ${e.message}`);
  }
};

console.log("-- loaders");
const set = new data.TensorDataset(arange(10).to("float32").reshape([5, 2]), arange(5));
const seeded = () => new data.DataLoader(set, { batchSize: 2, shuffle: true, seed: 3 });
const labels = (loader) => Array.from(loader, ([, y]) => y.toArray().join()).join(" | ");
const [one, two] = [seeded(), seeded()];
const orders = [labels(one), labels(one)];
console.log(orders[0] === labels(two), orders[1] === labels(two), orders[0] !== orders[1], one.length);
const resumed = seeded();
resumed.loadStateDict({ epoch: 1 });
console.log(labels(resumed) === orders[1], labels(resumed).split(/[,| ]+/).sort().join(""));
console.log(Array.from(new data.DataLoader(set, { batchSize: 2, dropLast: true }), ([x]) => x.shape));
console.log([...new data.DataLoader(set, { batchSize: null })].length, [...new data.DataLoader([1, 2, 3], { batchSize: 2, sampler: [2, 0] })][0]);
function* counts() {
  for (let i = 0; i < 5; i++) yield { i };
}
console.log(Array.from(new data.DataLoader({ [Symbol.iterator]: counts }, { batchSize: 2 }), (batch) => batch.i.toArray()));
async function* pairs() {
  for (let i = 0; i < 3; i++) yield [i, BigInt(i)];
}
const pairLoader = new data.DataLoader({ [Symbol.asyncIterator]: pairs }, { batchSize: 2 });
for await (const [a, b] of pairLoader) console.log(a.dtype, b.dtype, a.toArray());
for await (const batch of new data.DataLoader({ length: 2, get: async (i) => i * 10 }, { batchSize: 2 })) console.log(batch);
refused("async dataset", () => [...pairLoader]);
refused("unknown option", () => new data.DataLoader(set, { batchsize: 2 }));
refused("shuffled iterable", () => new data.DataLoader({ [Symbol.iterator]: counts }, { shuffle: true }));
refused("no dataset", () => new data.DataLoader(5));
refused("unequal rows", () => new data.TensorDataset(ones([2]), ones([3])));

console.log("-- collate");
console.log(data.collate([{ a: 1, b: { c: [true, "x"] }, t: ones([2]) }, { a: 2, b: { c: [false, "y"] }, t: zeros([2]) }]));
refused("shapes", () => data.collate([{ t: ones([2]) }, { t: ones([3]) }]));
refused("kinds", () => data.collate([1, "a"]));
refused("nothing", () => data.collate([[null], [null]]));
refused("no items", () => data.collate([]));
refused("an index outside", () => [...new data.DataLoader([1, 2], { sampler: [5] })]);

console.log("-- split");
const parts = data.randomSplit(set, [0.7, 0.3], { seed: 1 });
console.log(parts.map((p) => p.length), parts.flatMap((p) => p.indices).sort().join(""));
console.log(data.randomSplit(set, [3, 2]).map((p) => p.length), parts[0].getBatch([0])[1].shape);
refused("lengths", () => data.randomSplit(set, [3, 3]));

console.log("-- csv");
console.log(data.csvToTensor("a,b\n1,2\r\n3,4\n"), data.csvToTensor("1;2\n3;4", { header: false, separator: ";", dtype: "int64", columns: [1] }));
console.log(data.parseCsv('name,text\n"a ""q""","line\nbreak"\nb,c\n'));
refused("ragged", () => data.csvToTensor("a,b\n1,2\n3\n4,5"));
refused("ragged behind a line break in quotes", () => data.parseCsv('a,b\n"x\ny",1\n1,2,3'));
refused("no number", () => data.csvToTensor("a,b\n1,x\n"));
refused("no column", () => data.csvToTensor("a,b\n1,2", { columns: ["c"] }));
refused("open quote", () => data.parseCsv('a,b\n"x,1'));
refused("behind a quote", () => data.parseCsv('a,b\n"x"y,1'));
refused("no file", () => data.readCsv("absent.csv"));
console.log(data.readCsv("points.csv").toArray());
refused("ragged file", () => data.readCsv("ragged.csv"));

console.log("-- metrics");
const target = tensor([1, 1, 1], { dtype: "int64" });
console.log(metrics.accuracy(tensor([[0.1, 0.9], [0.8, 0.2], [0.3, 0.7]]), target).toFixed(4));
console.log(metrics.accuracy(tensor([[3, 2, 1], [1, 2, 3]]), tensor([1, 0], { dtype: "int64" }), { topk: 2 }));
const matrix = metrics.confusionMatrix(tensor([0, 1, 1, 2], { dtype: "int64" }), tensor([0, 1, 2, 2], { dtype: "int64" }));
console.log(matrix.toArray(), metrics.precisionRecall(matrix).f1.map((v) => v.toFixed(3)));
console.log(new metrics.Mean().update(2, 3).update(tensor(4)).value, new metrics.Mean().value);
refused("shapes", () => metrics.accuracy(ones([2, 3]), target));
refused("class", () => metrics.confusionMatrix(target, target, { numClasses: 1 }));

console.log("-- progress");
const bar = progress([1, 2, 3], { label: "x" });
for (const i of bar) bar.set({ loss: 0.12345 * i, last: tensor(i) });
for (const _ of progress(2));
for (const _ of progress([1, 2, 3])) break;
for await (const _ of progress({ [Symbol.asyncIterator]: pairs })) await nextTurn();
refused("no iterable", () => progress({}));
