// What is too large, too deep or endless is an error that the script can catch, wherever it is met;
// tensors work as before afterwards.
import {
  arange, autograd, checkpoint, concat, eye, gc, grad, linspace, memoryStats, nn, ones, randperm, stack, tensor, valueAndGrad, zeros,
} from "mlrun";

const F = nn.functional, leaf = () => ones([2]).requiresGrad_();
const nested = (n) => {
  let list = [];
  for (let i = 0; i < n; i++) list = [list];
  return list;
};
class Step extends autograd.Function {
  static forward(ctx, x) {
    return Step.apply(x);
  }
  static backward(ctx, g) {
    return g;
  }
}
const inside = (x) => checkpoint((y) => inside(y.mul(1)), x);
const derived = (x) => valueAndGrad((y) => derived(y)[0])(x);
const loop = new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0, 1, 4, 1, 96, 0, 0, 3, 2, 1, 0, 7, 5, 1, 1, 102, 0, 0, 10, 6, 1, 4, 0, 16, 0, 11]);

const cases = {
  "BigInt of 2^30 bits": () => 2n ** (2n ** 30n),
  "an array buffer": () => new ArrayBuffer(2 ** 40),
  "a transfer": () => new ArrayBuffer(8).transfer(2 ** 44),
  "shared buffers": () => { const all = []; for (;;) all.push(new SharedArrayBuffer(2 ** 30)); },
  "a growing WebAssembly memory": () => { const m = new WebAssembly.Memory({ initial: 1, maximum: 64 }); for (;;) m.grow(8); },
  "recursion of WebAssembly": () => new WebAssembly.Instance(new WebAssembly.Module(loop)).exports.f(),
  "a wait on what is not shared": () => Atomics.wait(new Int32Array(4), 0, 0),
  "a repeated string": () => "x".repeat(2 ** 30),
  "a joined string": () => new Array(2 ** 28).join("abc"),
  "a replaced string": () => "x".repeat(1e5).replaceAll("x", "y".repeat(1e5)),
  "JSON of large strings": () => { const s = "x".repeat(2 ** 28); JSON.stringify([s, s]); },
  "a deep clone": () => structuredClone(nested(1e5)),
  "deep JSON": () => { const o = { toJSON: () => ({ o }) }; JSON.stringify(o); },
  "deep source": () => new Function("(".repeat(1e5) + ")".repeat(1e5)),
  "a deep pattern": () => new RegExp("(".repeat(1e5) + ")".repeat(1e5)),
  "a pattern's stack": () => /(?:a|b)*c/.test("ab".repeat(1e7)),
  "recursion over tensors": () => { const f = (t) => f(t.add(1)).sum(); f(ones([2])); },
  "checkpoint in checkpoint": () => inside(leaf()),
  "valueAndGrad in valueAndGrad": () => derived(ones([1])),
  "grad of grad": () => { let f = (x) => x.mul(x).sum(); for (let i = 0; i < 3000; i++) { const g = f; f = (x) => grad(g)(x).sum(); } f(ones([1])); },
  "autograd.Function in itself": () => Step.apply(leaf()),
  "a tensor of itself": () => { const list = []; list.push(list); tensor(list); },
  "a deep tensor": () => tensor(nested(1e5)),
  "shapes": () => zeros([2 ** 31, 2 ** 31, 4]),
  "a range": () => arange(0, 1e300),
  "a linspace": () => linspace(0, 1, 2 ** 40),
  "a permutation": () => randperm(2 ** 40),
  "an identity": () => eye(1e6),
  "repetition": () => ones([1000]).repeat([1e6, 1e6]),
  "an expanded copy": () => ones([4]).expand([2 ** 40, 4]).add(1),
  "classes": () => F.oneHot(zeros([4], { dtype: "int64" }), 2 ** 40),
  "padding": () => F.pad(ones([4]), [2 ** 40, 2 ** 40]),
  "a stack": () => stack(new Array(1e4).fill(ones([1e5]))),
  "concatenation of what is held": () => { const all = []; for (;;) all.push(concat([ones([1 << 16]), ones([1 << 16])])); },
};

const name = (e) => (e instanceof Error ? e.name : typeof e);
for (const [what, f] of Object.entries(cases)) {
  try {
    f();
    console.log(`${what}: no error`);
  } catch (e) {
    console.log(`${what}: ${name(e)}`);
  }
}

/** Errors of a full stack in the middle of the library's own code. */
function overflow() {
  try {
    overflow();
  } catch {
    // the next try has a little more stack
  }
  ones([2]).add(1).dispose();
  leaf().mul(2).sum().backward();
}
try {
  overflow();
} catch (e) {
  console.log(name(e));
}
let y = leaf();
for (let i = 0; i < 1e5; i++) y = y.add(1);
y.sum().backward();
let turned = ones([2, 2]);
for (let i = 0; i < 1e5; i++) turned = turned.T;
console.log(turned.sum().item());
y = turned = null;
gc();
console.log(ones([2]).mul(2).sum().item(), memoryStats().liveTensors < 50);
