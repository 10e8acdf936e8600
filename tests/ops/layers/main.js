// Every layer beside PyTorch: outputs, gradients of inputs and parameters, buffers afterwards.
// oracle.py makes oracle.json.
import { arange, nn, noGrad, tensor } from "mlrun";
import cases from "./oracle.json" with { type: "json" };

const layers = {
  "Linear": () => new nn.Linear(4, 3),
  "Linear without bias": () => new nn.Linear(4, 3, { bias: false }),
  "Conv1d": () => new nn.Conv1d(2, 4, 3, { stride: 2, padding: 1, dilation: 2, groups: 2 }),
  "Conv2d": () => new nn.Conv2d(2, 3, [3, 2], { stride: [2, 1], padding: 1 }),
  "Conv2d same": () => new nn.Conv2d(2, 2, 4, { padding: "same" }),
  "Conv2d reflect": () => new nn.Conv2d(1, 2, 3, { padding: 1, paddingMode: "reflect" }),
  "Conv2d circular": () => new nn.Conv2d(1, 2, 3, { padding: [1, 2], paddingMode: "circular" }),
  "ConvTranspose2d": () => new nn.ConvTranspose2d(2, 3, 3, { stride: 2, padding: 1, outputPadding: 1 }),
  "ConvTranspose2d groups": () => new nn.ConvTranspose2d(4, 2, 3, { groups: 2, dilation: 2 }),
  "Embedding": () => new nn.Embedding(6, 3),
  "Embedding padding": () => new nn.Embedding(6, 3, { paddingIdx: 2 }),
  "LayerNorm": () => new nn.LayerNorm(5),
  "LayerNorm two": () => new nn.LayerNorm([3, 5], { eps: 1e-3 }),
  "LayerNorm without bias": () => new nn.LayerNorm(5, { bias: false }),
  "LayerNorm plain": () => new nn.LayerNorm(5, { elementwiseAffine: false }),
  "RMSNorm": () => new nn.RMSNorm(5, { eps: 1e-6 }),
  "BatchNorm1d": () => new nn.BatchNorm1d(3),
  "BatchNorm1d length": () => new nn.BatchNorm1d(3, { momentum: null }),
  "BatchNorm1d eval": () => new nn.BatchNorm1d(3),
  "BatchNorm2d": () => new nn.BatchNorm2d(3, { eps: 1e-3, momentum: 0.3 }),
  "BatchNorm2d untracked": () => new nn.BatchNorm2d(3, { trackRunningStats: false }),
  "GroupNorm": () => new nn.GroupNorm(2, 4),
  "MaxPool2d": () => new nn.MaxPool2d(3, { stride: 2, padding: 1 }),
  "MaxPool2d ceil": () => new nn.MaxPool2d(2, { ceilMode: true }),
  "AvgPool2d": () => new nn.AvgPool2d(2),
  "AvgPool2d padded": () => new nn.AvgPool2d(3, { stride: 2, padding: 1, countIncludePad: false }),
  "MultiheadAttention": () => new nn.MultiheadAttention(6, 2),
  "MultiheadAttention self": () => new nn.MultiheadAttention(6, 3, { batchFirst: true }),
  "MultiheadAttention fast": () => new nn.MultiheadAttention(6, 3, { batchFirst: true, bias: false }),
  "MultiheadAttention masks": () => new nn.MultiheadAttention(6, 2, { batchFirst: true }),
  "MultiheadAttention kdim": () => new nn.MultiheadAttention(6, 2, { kdim: 3, vdim: 4 }),
  "MultiheadAttention unbatched": () => new nn.MultiheadAttention(6, 2),
  "TransformerEncoderLayer": () => new nn.TransformerEncoderLayer(6, 2, { dimFeedforward: 8, dropout: 0 }),
  "TransformerEncoderLayer norm first": () =>
    new nn.TransformerEncoderLayer(6, 2, { dimFeedforward: 8, dropout: 0, activation: "gelu", batchFirst: true, normFirst: true }),
  "RNN": () => new nn.RNN(3, 4, { numLayers: 2 }),
  "RNN relu": () => new nn.RNN(3, 4, { nonlinearity: "relu", batchFirst: true }),
  "LSTM": () => new nn.LSTM(3, 4),
  "LSTM deep": () => new nn.LSTM(3, 2, { numLayers: 2, bidirectional: true, batchFirst: true }),
  "LSTM state": () => new nn.LSTM(3, 4, { bias: false }),
  "LSTM unbatched": () => new nn.LSTM(3, 4),
  "GRU": () => new nn.GRU(3, 4),
  "GRU deep": () => new nn.GRU(3, 2, { numLayers: 2, bidirectional: true }),
  "ReLU": () => new nn.ReLU(),
  "LeakyReLU": () => new nn.LeakyReLU(0.2),
  "ELU": () => new nn.ELU(1.5),
  "GELU": () => new nn.GELU(),
  "GELU tanh": () => new nn.GELU({ approximate: "tanh" }),
  "SiLU": () => new nn.SiLU(),
  "Sigmoid": () => new nn.Sigmoid(),
  "Tanh": () => new nn.Tanh(),
  "Softplus": () => new nn.Softplus({ beta: 2 }),
  "Softmax": () => new nn.Softmax(1),
  "LogSoftmax": () => new nn.LogSoftmax(-1),
  "CrossEntropyLoss": () => new nn.CrossEntropyLoss({ labelSmoothing: 0.1 }),
  "MSELoss": () => new nn.MSELoss(),
  "SmoothL1Loss": () => new nn.SmoothL1Loss({ beta: 0.5 }),
  "BCEWithLogitsLoss": () => new nn.BCEWithLogitsLoss({ reduction: "sum" }),
};

const padding = () => tensor([[0, 0, 0, 0, 0], [0, 0, 0, 1, 1]], { dtype: "bool" });
const above = () => tensor(Array.from({ length: 5 }, (_, i) => Array.from({ length: 5 }, (_, j) => (j > i ? -Infinity : 0))));
const calls = {
  "MultiheadAttention self": (m, x) => m.forward(x, x, x),
  "MultiheadAttention fast": (m, x) => m.forward(x, x, x, { needWeights: false }),
  "MultiheadAttention masks": (m, x) => m.forward(x, x, x, { keyPaddingMask: padding(), attnMask: above() }),
  "LSTM state": (m, x, h, c) => m.forward(x, [h, c]),
};

const read = ({ shape, dtype = "float32", data }) => tensor(data, { dtype }).reshape(shape);
const flat = (v) => (v === null ? [] : Array.isArray(v) ? v.flatMap(flat) : [v]);
let checked = 0;
const wrong = [];

/** Compares with a value of the oracle at 1e-5 of its size. */
function same(what, got, want) {
  checked++;
  if (got === null || got === undefined) return wrong.push(`${what}: got nothing`);
  if (String(got.shape) !== String(want.shape)) return wrong.push(`${what}: got [${got.shape}], expected [${want.shape}]`);
  const values = Array.from(got.toTypedArray(), Number);
  const at = values.findIndex((v, i) => !(Math.abs(v - want.data[i]) <= 1e-5 * (1 + Math.abs(want.data[i]))));
  if (at >= 0) wrong.push(`${what}: element ${at} is ${values[at]}, expected ${want.data[at]}`);
}

for (const c of cases) {
  try {
    const layer = layers[c.name]().train(c.train);
    const state = Object.fromEntries(Object.entries(c.state).map(([k, v]) => [k, read(v)]));
    layer.loadStateDict(state);
    const inputs = c.inputs.map((v) => (v.dtype ? read(v) : read(v).requiresGrad_()));
    const outputs = flat((calls[c.name] ?? ((m, ...xs) => m.forward(...xs)))(layer, ...inputs));
    let loss = tensor(0);
    outputs.forEach((o, i) => {
      same(`${c.name}, output ${i}`, o, c.outputs[i]);
      loss = loss.add(o.mul(arange(o.size).to("float32").cos().reshape(o.shape)).sum());
    });
    if (outputs.length !== c.outputs.length) wrong.push(`${c.name}: ${outputs.length} outputs, expected ${c.outputs.length}`);
    loss.backward();
    c.inputGrads.forEach((g, i) => g && same(`${c.name}, gradient of input ${i}`, inputs[i].grad, g));
    for (const [name, p] of layer.namedParameters()) same(`${c.name}, gradient of ${name}`, p.grad, c.grads[name]);
    const buffers = Object.fromEntries(layer.namedBuffers());
    for (const [name, want] of Object.entries(c.after)) same(`${c.name}, ${name} afterwards`, noGrad(() => buffers[name]), want);
  } catch (e) {
    wrong.push(`${c.name}: ${e.name}: ${e.message}`);
  }
}
for (const line of wrong) console.log(line);
console.log(`${cases.length} layers, ${checked} values compared, ${wrong.length} wrong`);
