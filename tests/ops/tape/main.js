// User-defined derivatives, checkpoints, and the watch for NaN.
import { autograd, checkpoint, enableGrad, gc, grad, manualSeed, memoryStats, noGrad, ones, rand, randn, tensor, where, zeros } from "mlrun";

const attempt = (what, f) => {
  try {
    console.log(`${what}: ${f()}`);
  } catch (e) {
    console.log(`${what}: ${e.name}: ${e.message}`);
  }
};
const text = (t) => JSON.stringify(t);

class Cube extends autograd.Function {
  static forward(ctx, x, scale) {
    const y = x.mul(x).mul(x).mul(scale);
    ctx.saveForBackward(x, y);
    ctx.scale = scale;
    return y;
  }
  static backward(ctx, g) {
    const [x, y] = ctx.savedTensors;
    console.log("backward runs", ctx.needsInputGrad.join(), text(y.detach()));
    return [g.mul(x).mul(x).mul(3 * ctx.scale), null];
  }
}
const x = tensor([1, 2]).requiresGrad_();
Cube.apply(x, 2).sum().backward();
console.log("its gradient", text(x.grad));
const [first] = autograd.grad(Cube.apply(x, 1).sum(), x, { createGraph: true });
console.log("second order", text(autograd.grad(first.sum(), x)[0]));
console.log("without a gradient", Cube.apply(tensor([3]), 1).requiresGrad, noGrad(() => Cube.apply(x, 1)).requiresGrad);
const kept = Cube.apply(x, 1).sum();
kept.backward({ retainGraph: true });
kept.backward();
attempt("freed", () => kept.backward());

class Pair extends autograd.Function {
  static forward(ctx, a, b) {
    return [a.add(b), a];
  }
  static backward(ctx, sum, same) {
    return [sum.add(same), sum];
  }
}
const a = tensor([1, 1]).requiresGrad_(), b = tensor([2, 2]).requiresGrad_();
const [sum, same] = Pair.apply(a, b);
console.log("two results", same === a, same.requiresGrad);
same.mul(10).sum().add(sum.sum()).backward();
console.log("both gradients", text(a.grad), text(b.grad));

class Wrong extends autograd.Function {
  static forward(ctx, x, how) {
    ctx.how = how;
    return x.mul(2);
  }
  static backward(ctx, g) {
    return ctx.how(g);
  }
}
const wrong = (how) => () => Wrong.apply(x, how).sum().backward();
attempt("too few gradients", wrong((g) => g));
attempt("no tensor", wrong(() => [1, null]));
attempt("wrong shape", wrong(() => [ones([3]), null]));
attempt("a gradient for no tensor", wrong((g) => [g, g]));
attempt("thrown inside", wrong(() => {
  throw new RangeError("from backward");
}));
attempt("no forward", () => (class Empty extends autograd.Function {}).apply(x));
attempt("saved and changed", () => {
  class Saves extends autograd.Function {
    static forward(ctx, x) {
      ctx.saveForBackward(x);
      return x.mul(1);
    }
    static backward(ctx, g) {
      return g.mul(ctx.savedTensors[0]);
    }
  }
  const t = x.mul(1), y = Saves.apply(t).sum();
  noGrad(() => t.add_(1));
  y.backward();
});
console.log("walk inside a walk", text(grad((t) => Wrong.apply(t, (g) => [grad((s) => s.square().sum())(g), null]).sum())(tensor([1, 2]))));

// Checkpoints.
manualSeed(1);
const w = randn([4, 4], { dtype: "float64" }).requiresGrad_();
const block = (h) => h.matmul(w).tanh().mul(rand([4, 4], { dtype: "float64" }).gt(0.3)).add(h);
const run = (layer) => {
  manualSeed(9);
  w.grad = null;
  const h = ones([4, 4], { dtype: "float64", requiresGrad: true });
  layer(layer(layer(h))).sum().backward();
  return [h.grad, w.grad, rand([1]).item()];
};
const plain = run(block), again = run((h) => checkpoint(block, h));
console.log("checkpoint", plain[0].eq(again[0]).all().item(), plain[1].sub(again[1]).abs().max().item() < 1e-12, plain[2] === again[2]);
console.log("through autograd.grad", (() => {
  const h = ones([2]).requiresGrad_();
  const [g] = autograd.grad(checkpoint((t) => t.square().mul(t), h).sum(), h, { createGraph: true });
  return `${text(g.detach())} ${text(autograd.grad(g.sum(), h)[0])}`;
})());
console.log("trees and several results", (() => {
  const t = ones([2]).requiresGrad_();
  const [p, q] = checkpoint(({ list }, k) => [list[0].mul(k), list[0].add(1)], { list: [t] }, 3);
  p.sum().add(q.mul(2).sum()).backward();
  return text(t.grad);
})());
console.log("nested", text(grad((t) => checkpoint((s) => checkpoint((r) => r.exp(), s).mul(s), t).sum())(zeros([2]))));
console.log("nothing to differentiate", checkpoint((t) => t.mul(2), ones([1])).requiresGrad, noGrad(() => checkpoint((t) => t.mul(2), x)).requiresGrad);
attempt("no function", () => checkpoint(3));
attempt("no tensor as result", () => checkpoint(() => 3, x));
const live = () => (gc(), memoryStats().liveTensors);
const before = live();
for (let i = 0; i < 50; i++) checkpoint((t) => t.mul(2), x), Cube.apply(x, 1);
console.log("graphs that nobody walks are freed", live() - before < 10);

// The watch for NaN.
attempt("detectAnomaly", () => autograd.detectAnomaly(() => {
  const t = zeros([2]).requiresGrad_();
  const root = t.sqrt();
  return root.mul(0).sum().backward();
}));
console.log("no fault", text(autograd.detectAnomaly(() => grad((t) => t.square().sum())(tensor([1])))));
attempt("a loss that is NaN", () => autograd.detectAnomaly(() => {
  const t = tensor([1, -1]).requiresGrad_();
  const logs = t.log();
  return logs.mul(2).sum().backward();
}));
attempt("NaN that is masked away", () => autograd.detectAnomaly(() => {
  const t = tensor([1, -1]).requiresGrad_();
  return text(grad((u) => where(u.gt(0), u.log(), 0).sum())(t.detach()));
}));
attempt("an asynchronous function", () => autograd.detectAnomaly(async () => {}));
attempt("ends with an error too", () => autograd.detectAnomaly(() => {
  throw new Error("mine");
}));

// Modes of asynchronous functions hold to their end, and for nobody else.
{
  const w = ones([2]).requiresGrad_(), turns = [], records = (name) => turns.push(`${name} ${w.mul(2).requiresGrad}`);
  const running = noGrad(async () => {
    records("before await");
    await null;
    records("after await");
    await new Promise((resolve) => setTimeout(resolve, 1));
    records("after a timer");
    const inner = async () => {
      await null;
      records("in a callee");
    };
    await inner();
    await enableGrad(async () => {
      await null;
      records("enabled");
    });
    records("at the end");
  });
  records("outside");
  await null;
  records("outside, after await");
  await running;
  records("after all");
  await noGrad(async () => {
    await null;
    throw new Error("mine");
  }).catch((e) => records(e.message));
  let mixed = 0;
  await Promise.all([true, false].map((on) => (on ? enableGrad : noGrad)(async () => {
    for (let i = 0; i < 4; i++) {
      await null;
      if (w.mul(2).requiresGrad !== on) mixed++;
    }
  })));
  console.log(turns.join("\n"));
  console.log("turns in the wrong mode", mixed);
}
