import { full } from "mlrun";
const { print } = globalThis.harness;
const T = (n = 1) => full([2], n);
const shared = T(6);
class Layer {
  #w = T(2);
  static count = T(1);
  static { Layer.count = Layer.count.add(1); }
  b = shared;
  scale = T(3).add(1);
  constructor(x) { this.x = x; }
  step(g) { this.#w = this.#w.sub(g); return this.#w; }
  clear() { const w = this.#w; this.#w = null; return w; }
  get w() { return this.#w; }
}
class Deep extends Layer { c = this.b; constructor(x) { super(x); this.d = x; } }
const run = () => { const l = new Deep(T(1)); const s = l.step(T(1)); l.c = null; l.b = null; const w = l.clear(); return s.add(w).add(l.d).add(l.x); };
print(run());
print(shared);
print(Layer.count);
const l = new Layer(T(7));
const w = l.w;
l.step(T(1));
print(w);
print(l.w);
