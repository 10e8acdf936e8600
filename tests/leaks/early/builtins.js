// Builtins that are known by what they do with elements: what they give holds its own counts, and
// code that runs meanwhile may take elements out.
import { full } from "mlrun";

const harness = (globalThis.harness = {});
const print = (v) => (console.log(typeof v?.sum === "function" ? v.sum().item() : v), v);
let n = 0;
const T = () => full([2], ++n);
const uncompiled = new Function("a", "b", "return a ?? b");

{
  const xs = [{ p: T(), k: 2 }, { p: T(), k: 1 }, { p: T(), k: 3 }];
  xs.sort((q, r) => { if (xs.length > 1) xs.pop(); return q.k - r.k; });
  for (const x of xs) print(x.p);
}
{
  const xs = [{ p: T(), k: 2 }, { p: T(), k: 1 }];
  xs.sort((q, r) => { xs[0] = { p: T(), k: 0 }; return q.k - r.k; });
  for (const x of xs) print(x.p);
}
{
  const xs = [T(), T()];
  const gone = xs.splice(0, 1, T());
  print(gone[0]);
  print(xs[0]);
  xs[0] = T();
  print(gone[0]);
}
{
  const xs = [T(), T(), T()], last = xs[2];
  const gone = xs.splice({ valueOf() { print(xs.pop()); return 0; } }, 1);
  print(gone[0]);
  print(last);
}
{
  const xs = [T(), T(), T()];
  print(xs.find((t, i) => (i === 1 ? (xs[1] = T()) : false)));
  const taken = xs.find(() => xs.splice(0, 1));
  print(taken.neg());
  xs.find(() => { xs.length = 0; return true; });
  print(xs.find(() => true) ?? "none");
}
{
  for (const evil of [
    (xs) => ({ get length() { xs.length = 0; return 0; }, [Symbol.isConcatSpreadable]: true }),
    (xs) => ({ get [Symbol.isConcatSpreadable]() { xs[0] = null; return false; } }),
    (xs) => Object.defineProperty([0], 0, { get: () => xs.pop() }),
    (xs) => new (class { get length() { return xs.splice(0).length - 2; } get [Symbol.isConcatSpreadable]() { return true; } })(),
  ]) {
    const xs = [T(), T()];
    const all = xs.concat(evil(xs));
    print(all[0]);
    print(all[1]);
  }
  const xs = [T(), T()], ys = [T()];
  const all = xs.concat(ys, 1, { k: T() }, [[T()]], T());
  xs.length = ys.length = 0;
  print(all[1]);
  print(all[2]);
  print(all[4].k);
  print(all[5][0]);
  print(all[6]);
}
{
  const inner = [T(), T()];
  const xs = [1, 2].flatMap(() => inner);
  inner.length = 0;
  for (const x of xs) print(x);
  const own = [1].flatMap(() => [T(), T()]);
  print(own[1]);
}
{
  const xs = [T(), T()];
  const copy = Array.from(xs);
  xs.length = 0;
  print(copy[1]);
  const more = Array.from([T(), T()], (t, i, ...rest) => (print(rest.length), t.add(1)));
  print(more.pop());
}
{
  const o = { p: T(), q: T() };
  const values = Object.values(o), entries = Object.entries(o), again = Object.fromEntries(entries);
  o.p = null;
  delete o.q;
  print(values[0]);
  entries[0][1] = null;
  print(again.p);
  print(entries[1][1]);
}
{
  const xs = [[{ toString() { xs.length = 0; return "k"; } }, T()], ["l", T()]];
  const o = Object.fromEntries(xs);
  print(o.k);
}
{
  const f = function (p) { print(this === f); return p; };
  print([T()].map(f, f)[0]);
  const kept = [];
  const keeper = new Function("kept", "return (a, b) => (kept.push(b), a)")(kept);
  print([1, 2].reduce(keeper, T()));
  const start = T();
  [T()].reduce(uncompiled, start);
  print(start);
  print([].reduce((a) => a, start));
  const total = [T(), T()].reduce((a, b) => a.add(b), (() => { try { [1].reduce((a) => a, (() => { throw 1; })()); } catch { /* goes on */ } return T(); })());
  print(total);
}
{
  const o = { inner: T(), get same() { return this.inner; }, get fresh() { return this.inner.add(1); } };
  const same = o.same, fresh = o.fresh;
  o.inner = T();
  print(same);
  print(fresh);
  delete o.same;
  print(typeof o.same);
  const other = { same: T() }, was = other.same;
  other.same = T();
  print(was);
}
{
  const source = { t: T(), i: 0, [Symbol.iterator]() { return this; }, next() { return this.i++ < 2 ? { value: this.t, done: false } : { value: undefined, done: true }; } };
  for (const t of source) {
    source.t = T();
    print(t);
  }
  const seen = [];
  class Steps {
    made = T();
    #done = false;
    [Symbol.iterator]() { return this; }
    next() {
      if (this.#done) return { done: true };
      this.#done = true;
      this.step = { value: this.made, done: false };
      return this.step;
    }
    return() { seen.push(this.made); return {}; }
  }
  const steps = new Steps();
  for (const t of steps) {
    steps.step.value = null;
    print(t);
    break;
  }
  print(seen[0]);
}
{
  const xs = [T(), T(), T()], middle = xs[1];
  xs.length = 1;
  print(middle);
  print(xs[0]);
  xs.length = 3;
  print(xs.length);
}
{
  class Base { constructor(t, u = T()) { this.t = t; this.u = u; } }
  const Keeps = new Function("return class { constructor(t) { globalThis.harness.kept = t; } }")();
  class Derived extends Base { constructor(t) { super(t, t.add(1)); } }
  class Foreign extends Base { constructor(t) { super(t); } }
  Object.setPrototypeOf(Foreign, Keeps);
  const d = new Derived(T());
  print(d.u);
  print(d.t);
  new Foreign(T());
  print(globalThis.harness.kept);
  class Late extends Base { constructor(t) { super(t, (Object.setPrototypeOf(Late, Keeps), 1)); } }
  print(new Late(T()).t);
}
{
  const fill = (out, t) => { out.push(t); out.last = t; };
  const xs = [], t = T();
  fill(xs, t);
  fill(xs, T());
  print(xs[0]);
  print(xs.last);
  const rows = [[], []];
  rows[0].push(T());
  const row = rows[0];
  rows[0] = [];
  print(row[0]);
}
{
  const Foreign = new Function("return class { static [Symbol.hasInstance](v) { globalThis.harness.tested = v; return true; } }")();
  print(T() instanceof Foreign);
  print(globalThis.harness.tested);
  const bound = Foreign.bind(null);
  print({ p: T() } instanceof bound);
  print(globalThis.harness.tested.p);
  const seen = [];
  class Own { static [Symbol.hasInstance](v) { seen.push(v); return false; } }
  print(T() instanceof Own);
  print(seen[0]);
}
{
  const home = Object.getPrototypeOf(Object.getPrototypeOf([][Symbol.iterator]()));
  const original = Object.getOwnPropertyDescriptor(home, Symbol.iterator);
  const replaced = { ...original, value: new Function("return (globalThis.harness.walk = this);") };
  const walk = () => {
    const xs = [T(), T(), T()];
    for (const [, t] of xs.entries()) {
      xs[1].add(t);
      break;
    }
  };
  walk();
  Object.defineProperty(home, Symbol.iterator, replaced);
  walk();
  Object.defineProperty(home, Symbol.iterator, original);
  print(globalThis.harness.walk.next().value[1]);
  const ys = [T(), T()];
  for (const [i, t] of ys.entries()) {
    ys[i] = T();
    print(t);
  }
  for (const t of ys.values()) print(t);
}
{
  const id = (t) => t, t = T(), xs = [T(), T()];
  if (id(t) && (id(t) || id(t))) print(t);
  while (xs.pop()) print(xs.length);
  print(id(t) ? id(t) : 0);
  print(t);
}
