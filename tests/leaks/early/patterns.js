// Patterns: what a default or a getter does while a pattern is bound may take out of the object what
// the pattern has already read.
import { full } from "mlrun";

let n = 0;
const T = () => full([2], ++n);
const show = (name, ...tensors) => console.log(name, ...tensors.map((t) => (typeof t?.sum === "function" ? t.sum().item() : t)));

class Lazy {
  t = T();
  get fresh() {
    this.t = T();
    return this.t;
  }
}
const k = { t: T(), list: [T(), T()], deep: { t: T() } };
const replace = () => {
  k.t = T();
  return 1;
};
{
  const f = ({ t, y = (k.t = T()) }) => t.neg();
  show("a default behind", f(k), k.t);
  show("not reached", f({ t: T(), y: 1 }), f({ t: k.t, y: 2 }), k.t);
  const g = ({ t }, y = replace()) => [t, y];
  show("another parameter's default", ...g(k));
  show("given", ...g(k, T()));
  const h = ({ t }, { y = replace() } = {}) => t;
  show("another pattern's default", h(k));
  const i = ([t, u = replace()], y = (k.list.length = 0, T())) => [t, y];
  show("of a list", ...i(k.list));
  const j = ({ deep: { t } }, y = (k.deep = { t: T() })) => [t, y.t];
  show("nested", ...j(k));
  const l = function ({ t }, y = replace()) { return () => t.add(y); };
  show("captured", l(k)());
  const m = ({ t }, y = () => 1) => (k.t = T(), t.add(y()));
  show("a function as default", m(k));
  class Q { constructor({ t }, y = replace()) { this.t = t; this.y = y; } use({ t }, { y = replace() }) { return this.t.add(t).add(y); } }
  const q = new Q(k);
  show("constructor and method", q.t, q.use(k, {}), q.use(k, { y: T() }));
  function* walk({ t }, y = replace()) { yield t; yield y; }
  show("generator", ...walk(k));
  const later = async ({ t }, y = replace()) => (await null, t.add(y));
  show("async", await later(k));
  const names = ({ t }, f = function () {}, g = () => {}, h = class {}) => [f.name, g.name, h.name];
  show("names", ...names(k));
}
{
  const { t, fresh } = new Lazy();
  show("getter", t, fresh);
  const o = new Lazy();
  let { t: a, fresh: b } = o;
  a = a.neg();
  show("renamed", a, b, o.t);
  let c, d;
  ({ t: c, fresh: d } = o);
  show("assigned", c, d, o.t);
  const { o: { t: e, fresh: f } } = { o };
  show("nested getter", e, f, o.t);
  for (const { t, fresh } of [o, new Lazy()]) show("loop", t, fresh);
  const p = ({ t, fresh }) => t.sub(fresh);
  show("parameter", p(o), p(new Lazy()));
  const r = ({ t }, { fresh }) => [t, fresh];
  show("two parameters", ...r(o, o));
  try {
    throw o;
  } catch ({ t, fresh }) {
    show("caught", t, fresh);
  }
  const s = async ({ t, fresh }) => (await null, t.sub(fresh));
  show("async getter", await s(o));
}
{
  const { t } = k, y = replace();
  show("the next declarator", t, y, k.t);
  let { deep: { t: a } } = k, [b] = (k.deep = { t: T() }, [k.deep.t]), c = (k.deep = null, a.add(b));
  a = a.neg();
  show("three declarators", a, b, c);
  var { t: d } = k, e = function () {}, f = replace();
  show("a function between", d, e.name, f);
  for (let i = 0; i < 2; i++) {
    const { t: g } = k, h = replace(), l = g.add(h);
    show("in a loop", g, h, l);
  }
  const later = async () => {
    const { t: m } = k, o = await replace();
    return m.add(o);
  };
  show("across await", await later());
}
