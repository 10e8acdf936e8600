// Programs that broke earlier drafts of the ownership rules: what each keeps must still be there.
import { concat, full, grad, nn } from "mlrun";

let n = 0;
const T = () => full([2], ++n);
const show = (name, ...tensors) => console.log(name, ...tensors.map((t) => (t === undefined ? "none" : t.sum().item())));
const fresh = (body) => new Function(`return ${body}`)();

{
  const a = [T()];
  const it = a.values();
  a.push(T());
  const c = Array.from(it);
  a.length = 0;
  show("iterator made before the push", c[0], c[1]);
}
{
  let w = T();
  const bump = () => { w = T(); };
  const f = (t) => { bump(); return t.sum(); };
  show("variable replaced during the call", f(w), w);
}
{
  const mk = () => { const y = T(); return grad((p) => p.mul(y).sum()); };
  show("grad keeps what its function captures", mk()(T()));
}
{
  const mk = () => { const o = { t: T(), read() { return () => this.t.sum(); } }; return o.read(); };
  show("arrow keeps this", mk()());
}
{
  const cached = T();
  const f = async () => cached;
  show("async function that gives a cached value", await f(), await f(), cached);
}
{
  const s = T();
  [T()].forEach(s.add, s);
  show("native callback with a receiver", s);
}
{
  const parts = [T(), T()];
  parts.forEach((p) => { parts.length = 0; show("array emptied in its own forEach", p); });
}
{
  const id = (t) => t;
  const t = T();
  show("reduce without a turn", [id(t)].reduce((a, b) => a.add(b)), t);
}
{
  const memo = fresh("function (make) { return this.v ??= make(); }");
  const holder = {};
  show("uncompiled memo", memo.call(holder, () => T()), memo.call(holder, () => T()), holder.v);
  const plain = fresh("(make) => globalThis.kept ??= make()");
  show("uncompiled memo without a receiver", plain.call(null, () => T()), plain.call(null, () => T()), globalThis.kept);
}
{
  const l = [];
  for (let t = T(), i = 0; i < 3; t = t.add(1), i++) l.push(() => t);
  show("closures over a loop variable", ...l.map((f) => f()));
}
{
  let w = T();
  const copy = Object.assign({}, { get h() { return w; } });
  w = null;
  show("getter copied by a builtin", copy.h);
}
{
  const a = T();
  const b = a.requiresGrad_();
  show("an op that gives its receiver", b, a);
}
{
  const f = (t) => t.add(1);
  const a = T();
  show("borrowed parameter", f(a), a);
}
{
  const x = T();
  const g = () => T().mul(2);
  show("op while operands are read", x.add(g()), x);
}
{
  class Box {
    #t = null;
    get t() { return this.#t; }
    set t(v) { this.old = this.#t; this.#t = v; }
  }
  const box = new Box();
  box.t = T();
  const first = box.t;
  box.t = T();
  show("setter that keeps the old value", box.old, box.t, first);
}
{
  const kept = [];
  for (const f of [(t) => [t], Array.of]) kept.push(f(T()));
  show("a callee that is sometimes native", kept[0][0], kept[1][0]);
}
{
  const hold = (t) => () => t;
  const h = hold(T());
  show("closure over a parameter", h());
}
{
  const e = {};
  const copy = Object.assign.bind(null, {}, e);
  e.t = T();
  const c = copy();
  e.t = T();
  show("bound builtin", c.t, e.t);
}
{
  // A text that looks like the compiler's mark makes no function a compiled one.
  const liar = new Function("t", "globalThis.stolen = t; return t; /*$own*/");
  const give = () => liar(T());
  give();
  show("forged mark", globalThis.stolen);
}
{
  const evil = eval("(t) => { globalThis.seen = t; return t.add(1); }\n//# sourceURL=" + import.meta.url);
  show("eval under the module's name", evil(T()), globalThis.seen);
}
{
  const { toString } = Function.prototype;
  const f = (a, b = a.add(1)) => { const c = a.mul(b); return c.sum(); };
  class C { static  s(x) { return x.add(1); } get g() { return T().add(1); } async m(t) { return (await t).add(1); } }
  for (const v of [f, C.s, C, Object.getOwnPropertyDescriptor(C.prototype, "g").get, C.prototype.m, toString]) console.log(v.toString());
}
{
  const t = T();
  const proxy = new Proxy((x) => x, { apply: (f, self, args) => { globalThis.through = args[0]; return args[0]; } });
  show("proxy as callee", proxy(t.add(1)), globalThis.through);
  const weird = { get then() { return undefined; }, t: T() };
  show("object with a getter named then", (await weird).t);
}
{
  const m = new Map(), s = new Set();
  const put = (k) => { const t = T(); m.set(k, t); s.add(t.mul(2)); return t; };
  put("a");
  show("map and set", m.get("a"), [...s][0], put("b"), m.get("b"));
}
{
  const p = T().requiresGrad_();
  p.mul(3).sum().backward();
  const g = p.grad;
  p.grad = null;
  show("gradient that is still held", g);
  const list = [];
  list.push(p);
  p.mul(2).sum().backward();
  list[0].grad;
  show("gradient read and dropped", p.grad);
}
{
  const a = [T(), T()];
  const [x, y] = a;
  a[0] = y;
  a[1] = x;
  show("swap through elements", a[0], a[1], x, y);
  const o = { t: x };
  o.t = o.t;
  o.t = o.t.add(0);
  show("self assignment", o.t, x);
}
{
  const outer = (f) => { try { return f(); } finally { T().sum(); } };
  show("finally after a result", outer(() => T()));
  const thrown = () => { throw T(); };
  try { thrown(); } catch (t) { show("thrown tensor", t); }
}
{
  class Replaced extends nn.Module {
    constructor() {
      super();
      const module = this;
      this.a = new nn.Parameter(T());
      this.inner = new nn.Linear(1, 1);
      this.more = { get b() { module.a = new nn.Parameter(T()); module.inner = null; return null; } };
    }
  }
  const parameters = new Replaced().parameters();
  show("parameters that a getter behind them replaces", parameters[0]);
  console.log(parameters.map((p) => p.isDisposed));
}
{
  const list = [T(), , T()];
  Object.defineProperty(Array.prototype, 1, {
    configurable: true,
    get() { list[0] = T(); return T(); },
    set(value) { Object.defineProperty(this, 1, { value, writable: true, configurable: true, enumerable: true }); },
  });
  let joined;
  try {
    joined = concat(list);
  } finally {
    delete Array.prototype[1];
  }
  show("a list whose hole replaces what stood before it", joined);
}
