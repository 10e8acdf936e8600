// Random classes, accessors, closures and switches. A part of generator.js.

import { rule } from "./rules.js";

/** A statement, or several, of module or function level. */
export function members(g) {
  const t = () => g.t(1);
  const [a, b, f] = [g.fresh("t"), g.fresh("t"), g.fresh("f")];
  const inside = (names, d = 1) => g.within(names, () => g.t(d));
  const leak = (...names) => g.pick(["", "", ...names.map((name) => `kept.push(${name});`), ...names.map((name) => `later.push(() => ${name});`)]);
  const body = g.pick([
    () => (rule("static block"), `{ class S { static p = ${t()}; static q; static { this.q = this.p.add(${t()}); const ${a} = this.q; S.r = ${inside([a])}; } static take() { const v = S.p; S.p = null; return v; } } print(S.q); print(S.r); print(S.take()); print(S.p ?? 0); ${leak("S.q", "S.r")} }`),
    () => (rule("brand check"), `{ class P { #v; constructor(v) { this.#v = v; } static is(o) { return #v in o; } static of(o) { return #v in o ? o.#v : ${t()}; } join(o) { this.#v = o.#v; return this.#v; } } const p = new P(${t()}), q = new P(${t()}); print(P.is(p) && !P.is({}) ? 1 : 0); print(P.of(p).add(P.of({}))); print(p.join(q)); q.join(p); print(P.of(q)); }`),
    () => (rule("computed member"), `{ const k = "m"; let n = 0; const o = { [k + n++]: ${t()}, [(n++, k)](x) { return x.add(this.m0); }, get [k + "g"]() { return ${g.pick(["this.m0", "this.m0.neg()"])}; }, [${t()} ? "z" : "y"]: ${t()} }; print(o.m(${t()})); print(o.mg); o[k + 0] = ${t()}; print(o.mg); print(o.z); class C { [k] = ${t()}; static [k] = ${t()}; } const c = new C(); print(c[k]); c[k] = C[k]; C[k] = null; print(c.m); }`),
    () => (rule("accessor of a class"), `{ class A { #p = ${t()}; get p() { return this.#p; } set p(v) { ${g.pick(["this.old = this.#p;", "kept.push(this.#p);", ""])} this.#p = v; } get twice() { return this.#p.mul(2); } } class B extends A { get p() { return ${g.pick(["super.p", "super.p.add(1)"])}; } set p(v) { super.p = ${g.pick(["v", "v.add(1)"])}; } } const o = new ${g.pick(["A", "B"])}(); const ${a} = o.p; o.p = ${t()}; print(${a}); print(o.p); o.p ??= ${t()}; o.p = o.p; print(o.twice); print(o.old ?? 0); ${leak("o", "o.p")} }`),
    () => (rule("class expression"), `{ const mixin = (Base) => class extends Base { r = ${t()}; get both() { return this.p.add(this.r); } }; const C = mixin(class { constructor(p) { this.p = p; } }); const o = new C(${t()}); print(o.both); o.p = ${t()}; print(o.both); const D = mixin(${g.pick(["Box", "C", "foreignBase"])}); print(new D(${t()}).both); print(new (class N { p = ${t()}; static make() { return new N().p; } }).constructor().p); ${leak("o.r", "o")} }`),
    () => (rule("new.target"), `{ function F(p) { if (!new.target) return new F(p); this.p = p; this.same = new.target === F; } class G extends F { constructor(p) { const q = p.add(1); super(q); this.q = q; } } print(F(${t()}).p); const o = new G(${t()}); print(o.p); o.p = null; print(o.q); print(Reflect.construct(F, [${t()}], G).p); print(F.call({}, ${t()}).p); }`),
    () => (rule("constructor that returns"), `{ const pool = []; class C { constructor(p) { ${g.pick(["if (pool.length) return pool[0];", "pool.push(this);", "return { p, pool };", "if (p) return Object.create(C.prototype, { p: { value: p } });"])} this.p = p; pool.push(this); } } class D extends C { q = ${t()}; } const x = new C(${t()}), y = new D(${t()}); print(x.p); print(y.q); y.q = null; print(new C(${t()}).p ?? 0); pool.length = 0; print(x.p); ${leak("y.p ?? kept0")} }`),
    () => (rule("fields only"), `{ class C { cache = new Map(); list = []; held = ${t()}; own = { p: ${t()} }; } const c = new C(); c.cache.set("a", ${t()}); c.list.push(${t()}); const ${a} = c.cache.get("a"); c.cache.set("a", ${t()}); c.held = c.list.pop(); print(${a}); print(c.held); c.own = { p: c.held }; print(c.own.p); c.cache = new Map([["a", ${t()}]]); print(c.cache.get("a")); ${leak("c.cache.get('a')", "c.own.p")} }`),
    () => (rule("conversion method"), `{ const o = { p: ${t()}, valueOf() { ${g.pick([`this.p = ${t()};`, "kept.push(this.p);", ""])} return this.p.index(0).item(); }, toString() { const v = this.p; this.p = ${t()}; return "s" + v.shape; }, [Symbol.toPrimitive]: ${g.pick(["undefined", `function (hint) { this.p = ${t()}; return hint === "number" ? 1 : "x"; }`])} }; const ${a} = o.p; print(o + 1); print(\`\${o}\`); print(o > 0 ? 1 : 0); print({ x: 5 }[o] ?? 0); print(${a}); print(o.p); }`),
    () => (rule("closure that counts"), `{ let w = ${t()}, n = 0; const step = (g) => { n++; w = ${g.pick(["w.sub(g)", "w.add(g)", "g"])}; return w; }; const read = () => w; const ${a} = read(); print(step(${t()})); print(${a}); print(step(read())); print(step(step(${t()}).add(read()))); ${g.pick(["", "later.push(read);", "later.push(() => step(kept0));", "kept.push(w);"])} print(read().add(n)); }`),
    () => (rule("curried"), `{ const ${f} = (x) => (y) => ${g.pick(["", "async "])}(z) => x.add(y).mul(z); const g1 = ${f}(${t()}), g2 = g1(${t()}); print(typeof g2(${t()})); print(((x) => (y) => x.add(y))(${t()})(${t()})); const h = ((x) => { const y = x.add(1); return { get: () => y, put: (v) => { x = v; return x; }, all: () => [x, y] }; })(${t()}); print(h.get()); print(h.put(${t()})); const [${a}, ${b}] = h.all(); h.put(${t()}); print(${a}.add(${b})); ${leak("h.get()", a)} }`),
    () => (rule("memo"), `{ const cache = ${g.pick(["{}", "new Map()", "[]"])}; const ${f} = (k) => ${"cache instanceof Map"} ? (cache.has(k) || cache.set(k, ${t()}), cache.get(k)) : (cache[k] ??= ${t()}); const ${a} = ${f}(0); print(${f}(0).add(${f}(1))); ${g.pick(["cache.clear?.();", "delete cache[0];", "cache.length = 0;", "cache[0] = null;", `cache.set?.(0, ${t()});`])} print(${a}); print(${f}(0)); ${leak(a, `${f}(1)`)} }`),
    () => (rule("switch over tensors"), `{ const ${a} = ${t()}, ${b} = ${g.pick([a, t()])}; L: switch (${b}) { case ${t()}: print(1); case ${a}: { const x = ${inside([a, b])}; print(x); ${g.pick(["break;", "break L;", ""])} } case id(${a}): print(${b}.add(1)); let y = ${inside([a])}; print(y); ${g.pick(["break;", ""])} default: y = ${t()}; print(y); later.push(() => y); } print(${b}); }`),
    () => (rule("operand reassigned"), `{ let ${a} = ${t()}, ${b} = ${t()}; print(${a}.add(${a} = ${inside([a, b])}).mul(${a})); const ${f} = (x, y, z) => x.add(y).sub(z); print(${f}(${a}, ${a} = ${t()}, ${a})); print(${f}(${b}, (${b} = ${a}, ${a} = ${t()}), ${b})); const o = { p: ${a}, q: (${a} = ${inside([a, b])}), r: ${a} }; print([${b}, ${b} = o.p, ${b}][${g.int(3)}]); print(o.q.add(o.r)); ${leak(b)} }`),
    () => (rule("default"), `{ function ${f}({ p = ${t()}, ...rest } = {}, [x, y = x] = [p], z = rest.q ?? y) { ${g.pick(["p = z;", "x = p.add(z);", ""])} return () => p.add(x).sub(z); } print(${f}()()); print(${f}({ p: ${t()}, q: ${t()} })()); print(${f}({}, [${t()}, ${t()}])()); print(${f}({ q: ${t()} }, undefined, ${t()})()); }`),
    () => (rule("arguments"), `{ function ${f}(p, q) { ${g.pick(["arguments[0] = q;", `p = ${inside(["q"])};`, "", "kept.push(arguments[1]);"])} const rest = [...arguments].slice(1); return ${g.pick(["arguments[0].add(p)", "rest[0].add(p)", "arguments.length > 1 ? arguments[1] : p", "(() => arguments[0])()"])}; } print(${f}(${t()}, ${t()})); print(${f}.apply(null, [${t()}, ${t()}])); }`),
  ])();
  return `try ${body} catch (e) { print(e.message); }`;
}

/** Loops of other forms. `body` is a block that may see the names that it gets. */
export function loops(g, indent, body) {
  const [i, a] = [g.fresh("i"), g.fresh("t")];
  const t = () => g.t(1);
  const known = (name, kind = "t") => ({ name, kind, assignable: kind === "t" });
  const at = (head, ...names) => `${head} ${body(names)}`;
  return g.pick([
    () => (rule("while"), [`let ${i} = 0;`, at(`while (${i}++ < ${1 + g.int(3)})`, known(i, "n"))]),
    () => (rule("while"), [`let ${i} = 0;`, `do ${body([known(i, "n")])} while (++${i} < ${1 + g.int(2)} && ${t()});`]),
    () => (rule("while"), [`let ${a} = ${t()}, ${i} = 0;`, at(`while ((${a} = ${a}.add(1)) && ${i}++ < 2)`, known(a))]),
    () => (rule("loop over keys"), [`const ${a}_o = { p: ${t()}, q: ${t()} };`, at(`for (const ${i} in ${a}_o)`), `print(${a}_o.p);`]),
    () => (rule("loop into a member"), [`const ${a}_o = { p: ${t()} };`, at(`for (${a}_o.${g.pick(["p", "q"])} of [${t()}, ${t()}])`), `print(${a}_o.q ?? ${a}_o.p);`]),
    () => (rule("loop into a member"), [`let ${a} = ${t()};`, at(`for (${a} of [${t()}, ${a}, ${t()}])`, known(a)), `print(${a});`]),
    () => (rule("loop over a map"), [`const ${a}_m = new Map([["a", { t: ${t()} }], ["b", { t: ${t()} }]]);`, at(`for (${g.pick(["const", "let"])} [${i}, { t: ${a} }] of ${a}_m)`, { name: a, kind: "t" }), `print(${a}_m.get("a").t);`]),
    () => (rule("loop over a map"), [`const ${a}_m = new Map([["a", ${t()}], ["b", ${t()}]]);`, at(`for (const ${a} of ${g.pick([`${a}_m.values()`, `[...${a}_m.values()]`, `Array.from(${a}_m.values())`, `new Set(${a}_m.values())`])})`, { name: a, kind: "t" }), `{ const [k] = ${a}_m.keys(), [[, v], ...others] = ${a}_m; print(k); print(v); print(others.length); }`]),
  ])();
}
