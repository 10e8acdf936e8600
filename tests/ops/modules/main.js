// nn.Module: what it holds, how it prints, saved state, hooks, errors that name a layer's path.
import { manualSeed, nn, ones, optim, summary, zeros } from "mlrun";

const refused = (what, f) => {
  try {
    console.log(what, f());
  } catch (e) {
    console.log(`${what}: ${e.name}: ${e.message}`);
  }
};

class Block extends nn.Module {
  constructor() {
    super();
    this.mlp = new nn.Sequential(new nn.Linear(4, 8), new nn.ReLU(), new nn.Linear(8, 4));
  }
  forward(x) {
    return this.mlp.forward(x).add(x);
  }
}

class Model extends nn.Module {
  constructor() {
    super();
    this.blocks = new nn.ModuleList([new Block(), new Block()]);
    this.heads = { first: new nn.Linear(4, 2, { bias: false }), list: [new nn.Linear(4, 3)] };
    this.tied = this.heads.first;
    this.scale = new nn.Parameter(ones([2]));
    this.registerBuffer("seen", zeros([1]));
    this.registerBuffer("cache", zeros([1]), { persistent: false });
    this.norm = new nn.BatchNorm1d(4);
    this.rnn = new nn.LSTM(3, 4, { bidirectional: true });
    this.plain = ones([3]);
  }
  forward(x) {
    for (const block of this.blocks) x = block.forward(x);
    return this.heads.first.forward(x).mul(this.scale);
  }
  extraRepr() {
    return "tied";
  }
}

const model = new Model();
console.log(model);
console.log(`${new nn.Sequential({ up: new nn.Linear(1, 2), act: new nn.LeakyReLU(0.2) })}`);
console.log(new nn.Conv2d(1, 2, 3, { padding: 1, bias: false }), new nn.MaxPool2d(2), new nn.Dropout(0.1));
console.log(model.namedParameters().map(([name, p]) => `${name} ${p.shape.join("x")}`).join("\n"));
console.log(model.namedBuffers().map(([name]) => name).join(" "));
console.log(Object.keys(model.stateDict()).filter((k) => !/^(blocks|rnn)/.test(k)).join(" "));
console.log(model.children().length, model.namedChildren().map(([name]) => name).join(" "), model.getSubmodule("blocks.1.mlp.0").inFeatures);
console.log(model.eval().norm.training, model.train().blocks[1].mlp[0].training, model.plain instanceof nn.Parameter, model.scale instanceof nn.Parameter);
let visited = 0;
model.apply((m) => visited += m instanceof nn.Linear ? 1 : 0);
console.log(visited, model.blocks.length, [...model.blocks].length, model.blocks.at(-1) === model.blocks[1]);

console.log("-- state");
const other = new Model();
other.loadStateDict(model.stateDict());
console.log(other.namedParameters().every(([name, p], i) => p.sub(model.parameters()[i]).abs().amax().item() === 0 && name.length > 0));
const small = new nn.Sequential(new nn.Linear(2, 3));
const before = small[0].bias.toArray().join();
refused("does not fit", () => small.loadStateDict({ "0.weight": zeros([2, 2]), "0.bias": zeros([3]), "1.weight": zeros([1]) }));
refused("missing", () => small.loadStateDict({}));
refused("not strict", () => small.loadStateDict({ "0.weight": zeros([3, 2]), more: zeros([1]) }, { strict: false }));
refused("no tensor", () => small.loadStateDict({ "0.weight": [1], "0.bias": zeros([3]) }));
console.log(small[0].bias.toArray().join() === before, small[0].weight.abs().sum().item());
const doubles = new Block().to("float64");
console.log(doubles.forward(ones([1, 4], { dtype: "float64" })).dtype, doubles.parameters()[0].requiresGrad, doubles.parameters()[0] instanceof nn.Parameter);

console.log("-- hooks");
const log = [];
const post = model.blocks[0].registerForwardHook((m, args, output) => {
  log.push(`${m.constructor.name} ${args[0].shape} ${output.shape}`);
  return output.mul(0);
});
const pre = model.blocks[1].registerForwardPreHook((_, [x]) => [x.add(1)]);
console.log(model.forward(ones([2, 4])).shape, log);
post.remove();
pre.remove();
model.forward(ones([2, 4]));
console.log(log.length, Object.getOwnPropertyNames(model.blocks[0]));

console.log("-- errors");
refused("shape", () => model.forward(ones([2, 5])));
refused("dtype", () => model.heads.list[0].forward([1]));
refused("alone", () => new nn.Linear(2, 2).forward(ones([3])));
refused("unknown option", () => new nn.Linear(2, 2, { biases: true }));
refused("no size", () => new nn.Conv2d(1, 0, 3));
refused("groups", () => new nn.Conv2d(3, 4, 3, { groups: 2 }));
refused("no forward", () => new (class Empty extends nn.Module {})().forward());
refused("list", () => model.blocks.forward());
refused("layer", () => new nn.Sequential(new nn.ReLU(), (x) => x));
refused("padding", () => new nn.Conv2d(1, 1, 3, { paddingMode: "mirror" }));
refused("heads", () => new nn.MultiheadAttention(5, 2));
refused("init", () => nn.init.kaimingUniform_(zeros([3])));
refused("optimizer", () => new optim.Adam(model.parameters(), { momentum: 0.9 }));
refused("twice", () => new optim.SGD([model.scale, model.scale]));
refused("betas", () => new optim.Adam([model.scale], { betas: [0.9, 1] }));
refused("not a leaf", () => new optim.SGD([model.scale.mul(2)]));
refused("other groups", () => new optim.SGD([model.scale]).loadStateDict(new optim.SGD(small.parameters()).stateDict()));

console.log("-- init");
const { init } = nn;
manualSeed(1);
const moments = (t) => [t.mean(), t.std()].map((v) => Number(v.item().toFixed(1)) + 0);
console.log(moments(init.uniform_(zeros([20000]), -1, 2)), moments(init.normal_(zeros([20000]), 1, 2)), moments(init.truncNormal_(zeros([20000]))));
console.log(init.truncNormal_(zeros([20000]), 0, 1, -1, 1).abs().amax().item() <= 1);
console.log(init.kaimingUniform_(zeros([50, 8, 3]), { nonlinearity: "relu" }).abs().amax().item() <= Math.sqrt(6 / 24), moments(init.xavierNormal_(zeros([100, 100]))));
const q = init.orthogonal_(zeros([3, 5]), { gain: 2 });
console.log(q.matmul(q.T).sub(init.eye_(zeros([3, 3])).mul(4)).abs().amax().item() < 1e-5);
console.log(init.calculateGain("relu") === Math.SQRT2, nn.utils.parametersToVector(small.parameters()).shape);

console.log("-- summary");
console.log(summary(new nn.Sequential(new nn.Linear(4, 8), new nn.ReLU(), new nn.Linear(8, 1000)), [2, 4]));
