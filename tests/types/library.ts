// Uses of the library that must be typed as they are here; lines marked as errors must be some.
import { autograd, Checkpoints, data, grad, metrics, nextTurn, nn, optim, progress, randn, summary, tensor, type Tensor, valueAndGrad, zeros } from "mlrun";

class Net extends nn.Module {
  layers = new nn.Sequential(new nn.Conv2d(1, 8, 3, { padding: "same" }), new nn.ReLU(), new nn.MaxPool2d(2), new nn.Flatten());
  blocks = new nn.ModuleList([new nn.Linear(8, 8), new nn.Linear(8, 8, { bias: false })]);
  scale = new nn.Parameter(zeros([1]));

  override forward(x: Tensor): Tensor {
    let h: Tensor = this.layers.forward(x);
    for (const block of this.blocks) h = block.forward(h);
    const bias: Tensor | null = this.blocks[0].bias;
    return bias === null ? h : h.mul(this.scale);
  }
}

const net = new Net().train().eval();
const { missing } = net.loadStateDict(net.stateDict(), { strict: false });
const names: string[] = missing;
net.registerForwardHook((module, [x], output: Tensor) => output.add(x).mul(module.scale)).remove();
const [y, [h, c]]: [Tensor, [Tensor, Tensor]] = new nn.LSTM(3, 4, { bidirectional: true }).forward(randn([5, 2, 3]));
const attention = new nn.MultiheadAttention(8, 2, { batchFirst: true });
const weights: Tensor = attention.forward(y, y, y)[1];
const none: null = attention.forward(y, y, y, { needWeights: false, isCausal: true })[1];
nn.init.kaimingUniform_(net.scale, { nonlinearity: "relu" });

const optimizer = new optim.AdamW([{ params: net.parameters(), lr: 1e-3 }, { params: net.scale, weightDecay: 0 }], { betas: [0.9, 0.95] });
const schedule = new optim.lr.SequentialLR(optimizer, [new optim.lr.LinearLR(optimizer), new optim.lr.CosineAnnealingLR(optimizer, 10)], [5]);
const loss: Tensor = optimizer.step(() => net.forward(h).sum());
const total: Tensor = nn.utils.clipGradNorm_(net.parameters(), 1, { normType: Infinity });
const rates: number[] = schedule.getLastLr();
optimizer.paramGroups[0].lr = rates[0];
const averaged: number = new optim.EMA(net, { decay: 0.99 }).swap(() => 1);

const set = new data.TensorDataset(randn([10, 2]), zeros([10], { dtype: "int64" }));
const [train, test] = data.randomSplit(set, [0.8, 0.2], { seed: 1 });
const loader = new data.DataLoader<Tensor[], { x: Tensor }>(train, { batchSize: 4, shuffle: true, collate: (items) => ({ x: items[0][0] }) });
const bar = progress(loader, { label: "epoch" });
for (const { x } of bar) bar.set({ loss, size: x.size });
for (const i of progress(10)) i.toFixed();
for await (const batch of loader) await nextTurn().then(() => batch.x);
const accuracy: number = metrics.accuracy(randn([4, 3]), test.get(0)[1]);
const text: string = summary(net, [1, 1, 8, 8]).toString();
const saved: string = new Checkpoints("runs", { keep: 2, mode: "max" }).save(1, { net, optimizer, schedule }, { metric: accuracy });
const table: Tensor = data.csvToTensor("a,b\n1,2\n", { columns: ["b", 0], dtype: "float64" });
const figure: string = loss.item().toFixed(4);
const exact: bigint = zeros([], { dtype: "int64" }).item<bigint>();
class Squares extends data.Dataset<number> {
  get length() {
    return 4;
  }
  get(index: number) {
    return index * index;
  }
}
const slope: Tensor = grad((v) => v.square().sum())(randn([2]));
const both: { w: Tensor } = valueAndGrad((tree: { w: Tensor }) => tree.w.softmax(0).sum())({ w: slope })[1];
const parts: Tensor[] = autograd.grad(loss, net.parameters());
const some: (Tensor | null)[] = autograd.grad(loss, net.parameters(), { allowUnused: true });

// @ts-expect-error: an unknown option
new nn.Linear(2, 3, { biases: true });
// @ts-expect-error: a shape in place of a tensor
net.forward([1, 2]);
// @ts-expect-error: the options of another optimizer
new optim.SGD(net.parameters(), { betas: [0.9, 0.99] });
// @ts-expect-error: no such padding
new nn.Conv2d(1, 2, 3, { padding: "full" });
// @ts-expect-error: a loader has no index
loader[0];

export { averaged, both, c, exact, figure, names, none, parts, saved, some, Squares, table, tensor, text, total, weights };
