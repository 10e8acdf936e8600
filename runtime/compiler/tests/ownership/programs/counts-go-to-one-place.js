import { full } from "mlrun";
const { print } = globalThis.harness;
const T = (n = 1) => full([2], n);
class Makes { constructor() { this.t = T(2); } reset() { this.t = T(3); } }
const make = new Function("C", "const o = new C(); globalThis.harness.first = o.t; return o;");
make(Makes).reset();
print(globalThis.harness.first);
let cached;
class Single { constructor() { return cached ??= { t: T(8) }; } }
const single = () => { const a = new Single(); return a.t.sum(); };
print(single());
print(single());
print(cached.t);
const x = T(1);
const one = (a = x.add(1)) => a;
const v = one();
const take = (a = x.add(2)) => a.sum();
print(take(v));
print(take(v));
print(v);
let list;
function keepsArguments() { list = arguments; }
keepsArguments(T(7), T(8));
print(list[1]);
const foreign = new Function("g", "return (function* () { const it = g(); const v = it.next().value; globalThis.harness.stash = v; yield v; })()");
function* gives() { const h = T(5).add(1); yield h; }
for (const w of foreign(gives)) print(w.add(1));
print(globalThis.harness.stash);
for (const w of gives()) print(w.add(1));
const max = Math.max;
Math.max = (y) => y;
const stash = [];
const o = { through(t) { const y = Math.max(t); stash.push(y); return y; } };
const use = () => { const y = o.through(T(6)); return y.add(1); };
print(use());
print(stash[0]);
const kept = T(9);
class Field { v = Math.max(kept.add(0) && kept); clear() { this.v = null; } }
new Field().clear();
const field = new Field();
field.clear();
Math.max = max;
print(kept);
