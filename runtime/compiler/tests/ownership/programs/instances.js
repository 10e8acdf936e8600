import { full } from "mlrun";
const { print } = globalThis.harness;
const T = (n = 1) => full([2], n);
class Box { constructor(t) { this.t = t; this.n = 0; } put(t) { const old = this.t; this.t = t; this.n++; return old; } get value() { return this.t; } }
class Sub extends Box { u = T(9); constructor(t) { super(t); this.v = t; } }
const b = new Box(T(1));
print(b.put(T(2)));
print(b.value);
print(b.put(b.t));
print(b.t);
const s = new Sub(T(3));
print(s.put(T(4)));
print(s.u.add(s.v));
function makeBox() { return new Box(T(5)); }
print(makeBox().put(null));
class Field { t = b.t; }
const f = new Field();
f.t = null;
print(b.t);
const raw = new Function("o", "o.t = o.u; return o")
const o = { t: T(1), u: T(2) };
raw(o);
o.t = null;
print(o.u);
const holder = { t: T(7) };
class Derived extends Box { u = holder.t; constructor() { super(null); } }
const d = new Derived();
d.u = null;
print(holder.t);
const raws = new Function("o", "globalThis.harness.seen = o.inner.t");
const outer = { inner: { t: T(1) } };
raws(outer);
outer.inner.t = T(2);
print(globalThis.harness.seen);
class Aliased extends Box { u = this.t; }
const aliased = () => { const d = new Aliased(T(7)); d.u = null; return d.t.sum(); };
print(aliased());
const sliced = () => { const xs = [T(1), T(2)]; const ys = xs.slice(0, 1).concat(xs); xs[0] = null; xs[1] = null; return ys[0].add(ys[2]); };
print(sliced());
class Makes { constructor() { this.t = T(7); } }
class Twice extends Makes { u = this.t; }
const made = () => { const d = new Twice(); d.u = null; return d.t.sum(); };
print(made());
