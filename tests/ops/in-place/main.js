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
attempt("a view", () => show(exp().narrow(0, 0, 1).mul_(2)));
attempt("a view in noGrad", () => {
  const y = exp().detach();
  noGrad(() => y.narrow(0, 0, 1).zero_());
  return show(y.mul(0));
});
attempt("a view from before", () => {
  const y = exp().mul(1), view = y.narrow(0, 0, 1);
  y.mul_(2);
  return show(view.add(1));
});
attempt("backward of a view from before", () => {
  const y = exp().mul(1), view = y.sum(0, { keepdim: true }), old = y.reshape([2]).narrow(0, 0, 1);
  y.mul_(2);
  view.backward();
  old.backward();
});
attempt("a view of a buffer from before", () => {
  const buffer = zeros([2]), view = buffer.narrow(0, 0, 1);
  buffer.add_(tensor([1, 2]).requiresGrad_());
  return view.mul(2).requiresGrad;
});
attempt("its values", () => {
  const y = tensor([1, 2]).requiresGrad_().mul(1), view = y.narrow(0, 0, 1), apart = y.detach();
  y.mul_(2);
  return `${show(view.detach())} ${show(noGrad(() => view.add(1)))} ${show(apart)} ${apart.add(1).requiresGrad}`;
});
attempt("a view taken anew", () => {
  const x = tensor([1, 2]).requiresGrad_(), y = x.mul(1);
  y.mul_(2);
  y.narrow(0, 0, 1).sum().backward();
  return show(x.grad);
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
