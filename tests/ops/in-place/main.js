// In-place ops on the tape: values and gradients are PyTorch's, refusals come in words, and the
// answers are the same whoever releases the handles.
import { autograd, noGrad, ones, tensor, zeros } from "mlrun";

const show = (t) => JSON.stringify(t.toArray());
function attempt(what, f) {
  try {
    console.log(`${what}: ${f()}`);
  } catch (e) {
    console.log(`${what}: ${e.name}: ${e.message}`);
  }
}

/** Gradient of sum([1, 10] * y) by x, where y = 3 x was changed by `change`. */
function gradient(change) {
  const x = tensor([1, 2]).requiresGrad_(), y = x.mul(3);
  change(y, x);
  y.mul(tensor([1, 10])).sum().backward();
  return `${show(y)} gradient ${show(x.grad)}, recorded ${y.requiresGrad && !y.isLeaf}`;
}

console.log("-- recorded");
attempt("add_ number", () => gradient((y) => y.add_(1)));
attempt("add_ x", () => gradient((y, x) => y.add_(x)));
attempt("sub_ x", () => gradient((y, x) => y.sub_(x)));
attempt("mul_ number", () => gradient((y) => y.mul_(2)));
attempt("mul_ x", () => gradient((y, x) => y.mul_(x)));
attempt("mul_ itself", () => gradient((y) => y.mul_(y)));
attempt("div_ x", () => gradient((y, x) => y.div_(x)));
attempt("div_ itself", () => gradient((y) => y.div_(y)));
attempt("div_ x, then add_", () => gradient((y, x) => y.div_(x).add_(1)));
attempt("twice", () => gradient((y, x) => y.mul_(x).mul_(x)));
attempt("zero_", () => gradient((y) => y.zero_()));
attempt("fill_", () => gradient((y) => y.fill_(2)));
attempt("copy_ constant", () => gradient((y) => y.copy_(tensor([5, 6]))));
attempt("copy_ of x squared", () => gradient((y, x) => y.copy_(x.mul(x))));
attempt("copy_ of x", () => gradient((y, x) => y.copy_(x)));
attempt("copy_ broadcast", () => gradient((y, x) => y.copy_(x.narrow(0, 1, 1))));
attempt("copy_ other dtype", () => gradient((y, x) => y.copy_(x.to("float64").square())));
attempt("add_ broadcast", () => gradient((y, x) => y.add_(x.sum())));
attempt("in noGrad", () => gradient((y) => noGrad(() => y.add_(1))));
attempt("a buffer that takes part", () => {
  const x = tensor([1, 2]).requiresGrad_(), buffer = zeros([2]);
  buffer.add_(x).mul_(x);
  buffer.sum().backward();
  return `${show(x.grad)} ${buffer.requiresGrad}`;
});
attempt("gradient of a gradient", () => {
  const x = tensor([1, 2]).requiresGrad_(), y = x.mul(x);
  y.mul_(x);
  const [g] = autograd.grad(y.sum(), x, { createGraph: true });
  g.sum().backward();
  return `${show(g)} ${show(x.grad)}`;
});

console.log("-- the version check");
const exp = () => tensor([1, 2]).requiresGrad_().exp();
attempt("output of exp", () => {
  const y = exp();
  y.add_(1);
  y.sum().backward();
});
attempt("input of mul", () => {
  const y = exp(), z = y.mul(y);
  y.zero_();
  z.sum().backward();
});
attempt("not needed", () => {
  const x = tensor([1, 2]).requiresGrad_(), y = x.mul(2), z = y.add(1);
  y.zero_();
  z.sum().backward();
  return show(x.grad);
});

console.log("-- leaves");
for (const [name, f] of Object.entries({
  add_: (x) => x.add_(1),
  sub_: (x) => x.sub_(x.detach()),
  mul_: (x) => x.mul_(2),
  div_: (x) => x.div_(2),
  copy_: (x) => x.copy_(zeros([2])),
  fill_: (x) => x.fill_(1),
  zero_: (x) => x.zero_(),
})) {
  const x = tensor([1, 2]).requiresGrad_();
  attempt(name, () => show(f(x)));
  attempt(`${name} in noGrad`, () => `${show(noGrad(() => f(x)))} ${x.isLeaf}`);
}

console.log("-- views");
const made = () => {
  const x = tensor([1, 2]).requiresGrad_();
  return { x, y: x.mul(3) };
};
attempt("a view", () => {
  const { x, y } = made(), view = y.narrow(0, 0, 1);
  view.mul_(2);
  y.mul(tensor([1, 10])).sum().backward();
  return `${show(y)} ${show(view)} gradient ${show(x.grad)} recorded ${view.requiresGrad && !view.isLeaf}`;
});
attempt("a view of a view", () => {
  const { x, y } = made();
  y.view([1, 2]).T.select(0, 1).add_(x.index(0)).mul_(y.index(0));
  y.sum().backward();
  return `${show(y)} ${show(x.grad)}`;
});
attempt("a view from before", () => {
  const { x, y } = made(), view = y.narrow(0, 0, 1);
  y.mul_(2);
  view.sum().backward();
  return `${show(view)} ${show(x.grad)}`;
});
attempt("a view beside another", () => {
  const { x, y } = made(), view = y.narrow(0, 0, 1), other = y.view([2, 1]);
  view.mul_(x.narrow(0, 1, 1));
  other.mul(tensor([[1], [10]])).sum().backward();
  return `${show(other)} ${show(x.grad)}`;
});
attempt("expanded from before", () => {
  const { x, y } = made(), view = y.expand([3, 2]);
  y.mul_(y);
  view.sum().backward();
  return `${show(view)} ${show(x.grad)}`;
});
attempt("of an expanded tensor", () => {
  const { x, y } = made();
  y.expand([2, 2]).select(0, 0).mul_(x);
  y.sum().backward();
  return `${show(y)} ${show(x.grad)}`;
});
attempt("a buffer by rows", () => {
  const { x, y } = made(), buffer = zeros([3, 2]);
  for (let i = 0; i < 3; i++) buffer.select(0, i).copy_(y.mul(i));
  buffer.select(1, 0).zero_();
  buffer.sum().backward();
  return `${show(buffer)} ${show(x.grad)} recorded ${buffer.requiresGrad}`;
});
attempt("a view of a buffer from before", () => {
  const buffer = zeros([2]), view = buffer.narrow(0, 0, 1);
  buffer.add_(tensor([1, 2]).requiresGrad_());
  return `${view.requiresGrad} ${view.mul(2).requiresGrad}`;
});
attempt("gradients by base and view", () => {
  const { y } = made(), view = y.narrow(0, 0, 1);
  view.mul_(2);
  const loss = view.mul(view).sum();
  return autograd.grad(loss, [y, view]).map(show).join(" ");
});
attempt("gradient of a gradient through a view", () => {
  const x = tensor([1, 2]).requiresGrad_(), y = x.mul(x);
  y.narrow(0, 1, 1).mul_(x.narrow(0, 1, 1));
  const [g] = autograd.grad(y.sum(), x, { createGraph: true });
  g.sum().backward();
  return `${show(g)} ${show(x.grad)}`;
});
attempt("the version check through a view", () => {
  const { y } = made(), z = y.mul(y);
  y.narrow(0, 0, 1).add_(1);
  z.sum().backward();
});
attempt("a view in noGrad", () => {
  const y = exp().detach();
  noGrad(() => y.narrow(0, 0, 1).zero_());
  return show(y.mul(0));
});
attempt("its values", () => {
  const y = tensor([1, 2]).requiresGrad_().mul(1), view = y.narrow(0, 0, 1), apart = y.detach();
  y.mul_(2);
  return `${show(view.detach())} ${show(noGrad(() => view.add(1)))} ${show(apart)} ${apart.add(1).requiresGrad}`;
});
attempt("detached", () => {
  const { x, y } = made(), apart = y.detach();
  apart.narrow(0, 0, 1).add_(x.narrow(0, 0, 1));
  apart.sum().backward();
  return `${show(y)} ${y.requiresGrad} ${show(apart)} ${show(x.grad)}`;
});
attempt("a gradient's own handle", () => {
  const x = tensor([1, 2]).requiresGrad_();
  x.mul(x).sum().backward({ createGraph: true });
  x.grad.narrow(0, 0, 1).mul_(x.narrow(0, 1, 1));
  return `${show(x.grad)} ${show(autograd.grad(x.grad.sum(), x)[0])}`;
});

console.log("-- refused views");
attempt("of a leaf", () => tensor([1, 2]).requiresGrad_().narrow(0, 0, 1).mul_(2));
attempt("that is a leaf", () => zeros([2]).narrow(0, 0, 1).requiresGrad_().mul_(2));
attempt("of a view that is a leaf", () => zeros([2]).narrow(0, 0, 2).requiresGrad_().narrow(0, 0, 1).mul_(2));
attempt("of a base that became a leaf", () => {
  const base = zeros([2]), view = base.narrow(0, 0, 1);
  base.requiresGrad_();
  view.add_(1);
});
attempt("split", () => made().y.split(1)[0].mul_(2));
attempt("chunk", () => made().y.chunk(2)[0].mul_(2));
attempt("unbind", () => made().y.unbind()[0].mul_(2));
attempt("a loop", () => {
  for (const row of made().y) row.mul_(2);
});
attempt("a view of a part", () => made().y.split(2)[0].narrow(0, 0, 1).mul_(2));
attempt("a part after a change", () => {
  const { y } = made(), [part] = y.split(1);
  y.mul_(2);
  part.add(1);
});
attempt("taken in noGrad", () => {
  const { y } = made();
  noGrad(() => y.narrow(0, 0, 1)).mul_(2);
});
attempt("taken in noGrad, after a change", () => {
  const { y } = made(), view = noGrad(() => y.narrow(0, 0, 1));
  y.mul_(2);
  view.add(1);
});
attempt("that a function of the user gave", () => {
  class First extends autograd.Function {
    static forward(ctx, x) {
      return x.narrow(0, 0, 1);
    }
    static backward(ctx, g) {
      return g.mul(tensor([1, 0]));
    }
  }
  First.apply(made().y).mul_(2);
});
attempt("expanded", () => ones([1]).expand([4]).add_(1));

console.log("-- shape and dtype stay");
attempt("shape", () => exp().add_(ones([3, 2])));
attempt("dtype", () => tensor([1, 2], { dtype: "int32" }).add_(0.5));

console.log("-- programs beside their twins without in-place ops");
// Small numbers that repeat, so that both sides compute exactly.
let state = 7;
const draw = (n) => (state = (state * 48271) % 2147483647) % n;
const OPS = ["add", "sub", "mul"];
const outcome = { equal: 0, refused: 0, different: 0 };
for (let program = 0; program < 400; program++) {
  const leaves = [tensor([1, -2]).requiresGrad_(), tensor([2, 1]).requiresGrad_()];
  const twins = [tensor([1, -2]).requiresGrad_(), tensor([2, 1]).requiresGrad_()];
  const own = [leaves[0].mul(1), leaves[1].mul(1), zeros([2])];
  const twin = [twins[0].mul(1), twins[1].mul(1), zeros([2])];
  for (let step = 0; step < 6; step++) {
    const i = draw(3), j = draw(3), op = OPS[draw(3)], kind = draw(4);
    if (kind === 0) {
      own[i] = own[i][op](own[j]);
      twin[i] = twin[i][op](twin[j]);
    } else if (kind === 1) {
      own[i].copy_(own[j]);
      twin[i] = twin[j].add(twin[i].mul(0));
    } else {
      own[i][`${op}_`](own[j]);
      twin[i] = twin[i][op](twin[j]);
    }
  }
  const at = draw(2), values = show(own[at]) === show(twin[at]);
  twin[at].sum().backward();
  try {
    own[at].sum().backward();
    const same = leaves.every((leaf, k) => show(leaf.grad ?? zeros([2])) === show(twins[k].grad ?? zeros([2])));
    outcome[same && values ? "equal" : "different"]++;
  } catch (e) {
    outcome[values && e.message.includes("was changed in place after") ? "refused" : "different"]++;
  }
}
console.log(outcome);
