// Random generators, promises and asynchronous code. A part of generator.js.

import { rule } from "./rules.js";

/** Generators of more forms. */
export function generators(g) {
  const t = () => g.t(1);
  const [a, b, gen] = [g.fresh("t"), g.fresh("t"), g.fresh("g")];
  const inside = (...names) => g.within(names, () => g.t(1));
  const end = (v) => g.pick(["", "", `kept.push(${v});`, "break;", `later.push(() => ${v});`]);
  const body = g.pick([
    () => (rule("value sent to a generator"), `{ function* ${gen}(x) { let y = yield x; while (y) { ${g.pick(["", "kept.push(y);", "x = y;"])} y = yield ${g.pick(["x.add(y)", "y", inside("x", "y")])}; } return x; } const it = ${gen}(${t()}); print(it.next().value); print(it.next(${t()}).value); const ${a} = it.next(${t()}).value; print(it.next().value ?? 0); print(${a}); }`),
    () => (rule("result of yield*"), `{ function* inner(x) { yield x; try { yield x.add(1); } finally { ${g.pick(["", "print(x);"])} } return ${inside("x")}; } function* ${gen}(x) { const r = yield* inner(x); yield r; const z = yield* ${g.pick(["inner(r)", "[r, x]", "inner(inner(x).next().value)"])}; yield z ?? x; } for (const ${a} of ${gen}(${t()})) { print(${a}); ${end(a)} } print([...${gen}(${t()})].length); }`),
    () => (rule("yield* of a list"), `{ const list = [${t()}, ${t()}], m = new Map([["k", ${t()}]]); function* ${gen}() { yield* list; list.length = 0; yield* m.values(); yield* new Set([${t()}]); yield* (function* () { yield ${t()}; })(); yield* { *[Symbol.iterator]() { yield list[0] ?? ${t()}; } }; } for (const ${a} of ${gen}()) { print(${a}); ${end(a)} } const [x, ...rest] = ${gen}(); print(x); print(rest[0]); }`),
    () => (rule("generator method"), `{ class C { #p = ${t()}; items = [${t()}, ${t()}]; *[Symbol.iterator]() { for (const x of this.items) { ${g.pick(["", `this.items = [];`, `this.items.pop();`])} yield x; } } *more(n) { while (n-- > 0) yield ${g.pick(["this.#p", "this.#p.add(n)", "this.items[0] ?? this.#p"])}; } static *made() { yield new C().items[1]; } } const c = new C(); for (const ${a} of c) { print(${a}.add(1)); ${end(a)} } for (const ${b} of c.more(2)) { c.items.length = 0; print(${b}); } const [x] = C.made(); print(x); for (const p of [...c, ...c.more(1)]) print(p); }`),
    () => (rule("stepping by hand"), `{ const it = (function* (x) { try { yield x; yield [x, x.add(1)]; yield { p: x }; } catch (e) { yield e; } })(${t()}); const first = it.next(), second = it.next(); print(first.value); print(second.value[1]); ${g.pick([`print(it.throw(${t()}).value);`, `print(it.return(${t()}).value);`, "print(it.next().value.p);", "for (const v of it) print(v.p);"])} print(second.value[0]); }`),
  ])();
  return `try ${body} catch (e) { print(e.message); }`;
}

/** Statements that await. */
export function promises(g) {
  const t = () => g.t(1);
  const [a, b, f] = [g.fresh("t"), g.fresh("t"), g.fresh("f")];
  const inside = (...names) => g.within(names, () => g.t(1));
  const leak = (...names) => g.pick(["", "", ...names.map((name) => `kept.push(${name});`), ...names.map((name) => `later.push(() => ${name});`)]);
  const wait = () => g.pick(["", "await null; ", "await 0; await null; "]);
  const task = `const ${f} = async (x, y = x) => { ${wait()}${g.pick(["", "kept.push(y); ", "x = x.add(1); "])}return ${g.pick(["x", "x.add(y)", inside("x", "y")])}; };`;
  const body = g.pick([
    () => (rule("promise kept"), `{ ${task} const p = ${f}(${t()}), q = ${f}(${t()}, ${t()}); ${wait()}const ${a} = await p; print(${a}); print((await q).add(await p)); ${leak(a, "await q".replace("await q", a))} }`),
    () => (rule("promise in a field"), `{ ${task} const o = { p: ${f}(${t()}) }, m = new Map([["k", ${f}(${t()})]]); print(await o.p); const ${a} = await o.p; o.p = null; print(${a}); print((await m.get("k")).add(await m.get("k"))); class C { #p; load() { return (this.#p ??= ${f}(${t()})); } async get() { return (await this.load()).add(1); } } const c = new C(); print(await c.get()); print(await c.load()); print(await c.load()); }`),
    () => (rule("promises of a list"), `{ ${task} const [${a}, ${b}] = await Promise.all([${f}(${t()}), ${g.pick([`${f}(${t()})`, t()])}]); print(${a}.add(${b})); const all = await Promise.all([${t()}, ${t()}].map(${g.pick([f, `async (x) => x.add(1)`, `(x) => ${f}(x)`])})); print(all[1]); ${g.pick(["all.length = 1;", `all[0] = ${t()};`, ""])} print(all[0]); const { p, q } = await (async () => ({ p: ${t()}, q: ${t()} }))(); print(p.add(q)); ${leak(a, "all[0]", "q")} }`),
    () => (rule("promise made by hand"), `{ let done; const p = new Promise((f) => (done = f)); setTimeout(() => done(${t()}), 0); const ${a} = await p; print(${a}); print(await p); const { promise, resolve, reject } = Promise.withResolvers(); ${g.pick([`resolve(${t()});`, `resolve(p);`, `reject(${t()});`, `resolve({ then: (f) => f(${t()}) });`])} print(await promise.catch((e) => e.neg())); print(await Promise.resolve(${t()})); try { await Promise.reject(${t()}); } catch (e) { print(e); } ${leak(a)} }`),
    () => (rule("settled promises"), `{ ${task} const fails = async (x) => { throw x; }; const all = await Promise.allSettled([${f}(${t()}), fails(${t()})]); print(all[0].value); print(all[1].reason); print(await Promise.any([fails(${t()}), ${f}(${t()})])); print(await Promise.race([${f}(${t()}), ${f}(${t()})])); try { await Promise.any([fails(${t()})]); } catch (e) { print(e.errors[0]); } }`),
    () => (rule("await in a loop"), `{ ${task} let ${a} = ${t()}; for (let i = 0; i < 2; i++) { ${a} = await ${f}(${a}); if (${g.n(1)} % 3 === 0) ${g.pick(["break", "continue"])}; print(await ${f}(${a}, ${t()})); } for (const x of [${t()}, ${t()}]) print((await ${f}(x)).add(x)); while ((${b}_n = (${b}_n ?? 0) + 1) < 3) ${a} = (await ${f}(${a})).mul(await ${f}(${t()})); print(${a}); }`.replace("{ ", `{ let ${b}_n; `)),
    () => (rule("await in a try"), `{ ${task} const g1 = async (x) => { const y = x.add(1); try { ${wait()}if (${g.n(1)} % 2) throw y; return await ${f}(x); } catch (e) { return ${g.pick(["e", "e.add(x)"])}; } finally { print(y); ${g.pick(["", `await ${f}(y);`, `if (x) return ${f}(y);`])} } }; print(await g1(${t()})); const ${a} = await g1(${t()}); print(${a}); ${leak(a)} }`),
    () => (rule("await of a value"), `{ const ${a} = await ${t()}; print(${a}); print((await ${a}).add(await id(${t()}))); const o = await { p: await ${t()} }; print(await o.p); print(await (${g.n(1)} % 2 ? ${t()} : Promise.resolve(${t()}))); const xs = await [${t()}, ${t()}]; xs[0] = await xs[1]; print(xs[0]); ${leak(a, "xs[0]")} }`),
    () => (rule("delegating async generator"), `{ async function* inner(x) { yield x; ${wait()}yield ${g.pick(["x.add(1)", `Promise.resolve(${t()})`, inside("x")])}; return x; } async function* outer(x) { const r = yield* inner(x); yield r; yield* [${t()}, (async () => ${t()})()]; } for await (const ${a} of outer(${t()})) { print(${a}); ${g.pick(["", `kept.push(${a});`, "break;"])} } const it = outer(${t()}); const first = it.next(), second = it.next(); print((await second).value); print((await first).value); print((await it.return(${t()})).value); }`),
    () => (rule("loop over promises"), `{ ${task} for await (const ${a} of [${f}(${t()}), ${t()}, Promise.resolve(${t()})]) { print(${a}); ${g.pick(["", `kept.push(${a});`, "break;"])} } for await (const ${b} of (function* () { yield ${f}(${t()}); yield ${t()}; })()) print(${b}.add(1)); print((await Array.fromAsync([${f}(${t()}), ${t()}], async (x) => x.add(1)))[0]); }`),
    () => (rule("async method"), `{ class C { p = ${t()}; async m(x) { const old = this.p; this.p = x; ${wait()}return ${g.pick(["old", "this.p", "old.add(this.p)"])}; } static async s(...v) { ${wait()}return v[0]; } async *all() { yield this.p; this.p = ${t()}; ${wait()}yield this.p; } } const c = new C(); print(await c.m(${t()})); const [${a}, ${b}] = [c.m(${t()}), c.m(${t()})]; print((await ${b}).add(await ${a})); print(await C.s(${t()}, ${t()})); for await (const v of c.all()) print(v); print(c.p); }`),
    () => (rule("microtask"), `{ const seen = []; queueMicrotask(() => seen.push(${t()})); ${task} ${f}(${t()}).then((x) => seen.push(x)); const ${a} = await ${f}(${t()}).then((x) => ${inside("x")}).then(id).finally(() => ${t()}); await new Promise((r) => setTimeout(r, 0)); for (const v of seen) print(v); print(${a}); await ${f}(${t()}); void ${f}(${t()}); }`),
    // The engine of the compiler's own tests may not know it.
    ...(g.library ? [() => (rule("await using"), `{ await using ${a}_r = { p: ${t()}, async [Symbol.asyncDispose]() { ${wait()}print(this.p); } }; using ${b}_r = { p: ${a}_r.p, [Symbol.dispose]() { print(this.p.add(1)); } }; ${g.pick([`${a}_r.p = ${t()};`, ""])} print(${b}_r.p); }`)] : []),
  ])();
  return `try ${body} catch (e) { print(e.message); }`;
}
