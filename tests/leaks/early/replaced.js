// Builtins that a program replaced or watches see nothing of the pass, and keep what they get.
import { full } from "mlrun";

let n = 0;
const T = () => full([2], ++n);
const sum = (t) => (typeof t === "object" && t !== null ? t.sum().item() : t);
const show = (name, ...ts) => console.log(name, ...ts.map(sum));
const uncompiled = (body) => new Function(`return ${body}`)();
const test = (name, f) => {
  try {
    f(name);
  } catch (e) {
    console.log(name, "threw", e.name, e.message);
  }
};

test("proxy proto has trap", (name) => {
  class Base { constructor(t) { this.first = t; } }
  const kept = [];
  const h = uncompiled("(kept) => ({ has(t, k) { kept.push('has ' + String(k)); return false; }, set(t, k, v, r) { kept.push(v); return Reflect.defineProperty(r, k, {value: v, writable: true, configurable: true, enumerable: true}); } })")(kept);
  Object.setPrototypeOf(Base.prototype, new Proxy({}, h));
  const b = new Base(T());
  b.second = T();
  b.second = T();
  show(name, ...kept.map(v => typeof v === "string" ? v : v), b.first, b.second);
});
test("literal proto proxy", (name) => {
  const kept = [];
  const h = uncompiled("(kept) => ({ has(t, k) { kept.push('has ' + String(k)); return false; }, set(t, k, v, r) { kept.push(v); return true; } })")(kept);
  const o = { __proto__: new Proxy({}, h), a: T() };
  o.b = T();
  o.b = T();
  show(name, ...kept, o.a);
});
test("array length max push", (name) => {
  const a = [T()];
  a.length = 4294967295;
  const t = T();
  try { a.push(t); } catch (e) { show(name, e.name, e.message); }
  a.length = 1;
  show(name, t, a[0], a.length);
});
test("accessor on Array.prototype index", (name) => {
  const stolen = [];
  Object.defineProperty(Array.prototype, 3, { set: uncompiled("(s) => function (v) { s.push(v); }")(stolen), get() { return undefined; }, configurable: true });
  try {
    const a = [T(), T(), T()];
    a.push(T());
    a[3] = T();
    show(name, ...stolen.map((t) => t), a.length);
    const b = [T()];
    b.length = 3;
    b.push(T());
    show(name, stolen.length, ...stolen, b[0]);
    b.unshift(T());
    show(name, stolen.length, ...stolen, b[0], b[1]);
  } finally { delete Array.prototype[3]; }
});
test("accessor inherited on Object.prototype", (name) => {
  const stolen = [];
  Object.defineProperty(Object.prototype, "zz", { set: uncompiled("(s) => function (v) { s.push(v); }")(stolen), get: uncompiled("(s) => function () { return s[0]; }")(stolen), configurable: true });
  try {
    const o = { a: T() };
    o.zz = T();
    o.zz = T();
    show(name, ...stolen, o.a, o.zz);
    const p = { a: T(), zz: T() };
    p.zz = T();
    show(name, p.zz, p.a);
  } finally { delete Object.prototype.zz; }
});
test("Array methods patched", (name) => {
  const kept = [];
  const { push, map } = Array.prototype;
  Array.prototype.push = uncompiled("(k, p) => function (...a) { k[k.length] = a[0]; return p.apply(this, a); }")(kept, push);
  Array.prototype.map = function (f) { const r = []; for (let i = 0; i < this.length; i++) r[i] = f(this[i], i, this); kept[kept.length] = r; return r; };
  try {
    const a = [];
    a.push(T()); a.push(T());
    const b = a.map((t) => t.add(1));
    a.length = 0;
    show(name, ...b, kept[0], kept[2][1]);
  } finally { Array.prototype.push = push; Array.prototype.map = map; }
});
test("species", (name) => {
  const kept = [];
  class A extends Array { static get [Symbol.species]() { return uncompiled("(k) => function (n) { const r = []; k.push(r); return r; }")(kept); } }
  const a = A.from([T(), T()]);
  const b = a.map((t) => t.add(1));
  const c = a.filter(() => true);
  show(name, ...b, ...c, kept[0][0]);
  const p = [T(), T()];
  p.constructor = { [Symbol.species]: class extends Array { constructor(...x) { super(...x); kept.push(this); } } };
  const q = p.map((t) => t.mul(2));
  const q2 = p.slice(0, 1);
  show(name, ...q, ...q2, kept[kept.length - 1][0]);
});
test("species of Array replaced", (name) => {
  const d = Object.getOwnPropertyDescriptor(Array, Symbol.species);
  const kept = [];
  Object.defineProperty(Array, Symbol.species, { configurable: true, get: uncompiled("(k) => function () { return function (n) { const r = []; k.push(r); return r; }; }")(kept) });
  try {
    const a = [T(), T()];
    { const b = a.map((t) => t.add(1)); show(name, ...b); }
    { const c = a.slice(0, 1); a.length = 0; show(name, ...c); }
    show(name, kept.length, ...kept[0], kept[1][0]);
  } finally { Object.defineProperty(Array, Symbol.species, d); }
});
test("array iterator replaced", (name) => {
  const it = Array.prototype[Symbol.iterator];
  const kept = [];
  Array.prototype[Symbol.iterator] = uncompiled("(k, it) => function () { k[k.length] = this; return Reflect.apply(it, this, []); }")(kept, it);
  let r;
  try {
    const f = (a, b, c, d, e) => a.add(b).add(c).add(d).add(e);
    const o = { f };
    r = o.f(T(), T(), T(), T(), T());
    const x = [T(), T()];
    const y = x.map((t) => t.add(1));
    const z = [].concat(x, y);
    for (const g of (function* () { yield 1; yield 2; })()) r = r.add(g);
    r = r.add(z[3]);
  } finally { Array.prototype[Symbol.iterator] = it; }
  show(name, r, kept.length);
});
test("push and pop replaced", (name) => {
  const { push, pop, splice, lastIndexOf } = Array.prototype;
  let log = 0;
  Array.prototype.push = function (...a) { log++; return Reflect.apply(push, this, a); };
  Array.prototype.pop = function () { log++; return Reflect.apply(pop, this, []); };
  Array.prototype.splice = function (...a) { log++; return Reflect.apply(splice, this, a); };
  Array.prototype.lastIndexOf = function (...a) { log++; return Reflect.apply(lastIndexOf, this, a); };
  try {
    const f = (x, y = T()) => { const o = { a: [x], b: { y } }; return o; };
    for (let i = 0; i < 3; i++) { const o = f(T()); if (i === 2) show(name, o.a[0], o.b.y); }
    Map.prototype.get.call(new Map(), f(T()));
  } finally { Object.assign(Array.prototype, { push, pop, splice, lastIndexOf }); for (const k of ["push", "pop", "splice", "lastIndexOf"]) Object.defineProperty(Array.prototype, k, { enumerable: false }); }
  show(name, log);
});
test("constructor accessor", (name) => {
  const d = Object.getOwnPropertyDescriptor(Array.prototype, "constructor");
  let log = 0;
  Object.defineProperty(Array.prototype, "constructor", { configurable: true, get() { log++; return Array; } });
  try { const a = [T()]; a.push(T()); const b = a.map((t) => t.add(1)); const c = a.slice(); show(name, b[1], c[0], a.pop()); } finally { Object.defineProperty(Array.prototype, "constructor", d); }
  show(name, log);
});
test("instanceof hook", (name) => {
  const kept = [];
  const K = { [Symbol.hasInstance]: uncompiled("(k) => function (x) { k.push(x); return true; }")(kept) };
  { const t = T(); t instanceof K; }
  { T() instanceof K; }
  const mk = () => { const t = T(); return t instanceof K; };
  mk();
  { const o = { t: T() }; o instanceof K; }
  show(name, ...kept.slice(0, 3), kept[3].t);
  let x = T(), seen;
  const L = { [Symbol.hasInstance](v) { x = T(); seen = v.add(1); return true; } };
  const b = x instanceof L;
  show(name, b, seen, x);
  const o = { p: T() };
  const M = { [Symbol.hasInstance](v) { o.p = T(); seen = v.add(1); return true; } };
  show(name, o.p instanceof M, seen, o.p);
});
test("huge sparse array", (name) => {
  const f = () => { const a = [T()]; a[4e9] = T(); return a[4e9]; };
  show(name, f());
});
test("stale fold", (name) => {
  const inner = [T(), T(), T()];
  let saved;
  const r = [1, 2].reduce((x, y) => { try { inner.reduce((p, q, i) => { if (i === 2) throw 0; saved = p.add(q); return saved; }); } catch {} return saved; });
  show(name, r, saved);
  const only = [inner[0]];
  const s = only.reduce((a, b) => b);
  only.length = 0;
  show(name, s, inner[0]);
});
