// Random meetings with code that the pass does not know, which keeps what it sees and hands it on. A part of
// generator.js.

import { rule } from "./rules.js";

/** What strangers have seen stands in `globalThis.harness.seen`, and is printed when the program ends. */
export function strangers(g) {
  const t = () => g.t(1);
  const [a, f, o, xs] = [g.fresh("t"), g.fresh("f"), g.fresh("o"), g.fresh("xs")];
  const fresh = () => `${g.postfix(t())}.add(1)`;
  const body = g.pick([
    () => (rule("stranger remembers"), `globalThis.harness.memo = undefined; const ${f} = ${g.pick([`() => foreignMemo(() => ${fresh()})`, `() => { const x = ${fresh()}; return foreignMemo(() => x); }`, `(x = ${fresh()}) => foreignMemo.call(null, () => x)`])}; print(${f}()); print(${f}().add(1)); { const ${a} = foreignMemo(() => ${fresh()}); print(${a}); } print(${f}()); globalThis.harness.memo = undefined; { const ${a} = foreignMemo(() => ${fresh()}); print(${a}); } print(foreignMemo(id));`),
    () => (rule("stranger looks into what it got"), `let ${o} = { p: ${fresh()}, l: [${fresh()}, ${t()}], i: { p: ${fresh()} } }; const ${f} = ${g.pick([`() => ${o}`, `() => { const n = { p: ${fresh()}, l: [${fresh()}], i: { p: ${t()} } }; ${o} = n; return n; }`, `() => id(${o})`])}; print(foreignLook(${f})); ${g.pick([`${o}.p = null; ${o}.i.p = null; ${o}.l.pop(); ${o}.l.pop();`, `${o}.p = ${fresh()}; ${o}.l.length = 0; ${o}.i = null;`, `${o}.l = []; delete ${o}.p;`, `${o}.l.shift(); ${o} = null;`])} print(${o}?.p ?? 0);`),
    () => (rule("stranger looks into a list"), `const ${xs} = []; const ${f} = () => { const l = [${fresh()}, ${fresh()}]; ${xs}.push(l); return l; }; print(new Function("see", "f", "see(f()[1])")(see, ${f}) ?? 1); ${g.pick([`${xs}[0].pop();`, `${xs}[0].length = 0;`, `${xs}[0][1] = ${t()};`, `${xs}.pop();`, `${xs}[0].splice(0);`, `${xs}[0].sort((p, q) => { ${xs}[0].pop(); return 1; });`])}`),
    () => (rule("arguments for a stranger"), `function ${f}() { ${g.pick(["foreignFirst(arguments); return arguments[1];", "const l = arguments; foreignFirst(l); return 1;", "return foreignFirst(arguments);"])} } print(${f}(${fresh()}, ${fresh()}));`),
    () => (rule("arguments for a stranger"), `function ${f}(p, q) { ${g.pick(["foreignFirst(arguments);", "const l = arguments; foreignFirst(l);", "foreignFirst([...arguments]);"])} ${g.pick(["return p;", "return q;", "p = q; return p;"])} } print(${f}(${fresh()}, ${fresh()}));`),
    () => (rule("stranger in an iterator"), `const at = Array.prototype, kept = at[Symbol.iterator]; at[Symbol.iterator] = foreignIterate(kept); try { ${g.pick([`const [x, y] = [${fresh()}, ${fresh()}]; print(x.add(y));`, `print(((...v) => v[1])(...[${fresh()}, ${fresh()}]));`, `for (const x of [${fresh()}]) print(x);`, `print([...[${fresh()}, ${t()}]].length);`, `const { l: [x] } = { l: [${fresh()}, 1] }; print(x);`])} } finally { at[Symbol.iterator] = kept; }`),
    // Older engines iterate the arguments of `new` where a class has no constructor.
    ...(g.library ? [() => (rule("stranger in an iterator"), `const home = Object.getPrototypeOf([][Symbol.iterator]()), next = home.next; home.next = foreignNext(next); try { ${g.pick([`for (const x of [${fresh()}, ${fresh()}]) print(x);`, `for (const [i, x] of [${fresh()}].entries()) print(x.add(i));`, `const [x] = [${fresh()}]; print(x);`])} } finally { home.next = next; }`)] : []),
    ...(g.library ? [() => (rule("stranger in an iterator"), `const home = Object.getPrototypeOf(Object.getPrototypeOf([][Symbol.iterator]())), kept = home[Symbol.iterator]; home[Symbol.iterator] = foreignIterator; try { ${g.pick([`for (const [i, x] of [${fresh()}, ${fresh()}].entries()) print(x);`, `for (const x of [${fresh()}].values()) print(x);`, `for (const x of (function* () { yield ${fresh()}; })()) print(x);`])} } finally { home[Symbol.iterator] = kept; }`)] : []),
    () => (rule("stranger in a generator"), `function* ${f}(x) { yield x.add(1); yield x.mul(2); } for (const ${a} of foreignSteps(${f}(${t()}))) { print(${a}); ${g.pick(["", "break;"])} } ${f}.prototype.next = foreignNext(Object.getPrototypeOf(${f}.prototype).next); for (const ${a} of ${f}(${t()})) print(${a}.neg()); const [x] = ${f}(${t()}); print(x); const it = ${f}(${t()}); for (const ${a} of it) print(${a});`),
    () => (rule("stranger tests an instance"), `print(${fresh()} instanceof foreignTest ? 1 : 0); const ${o} = { p: ${fresh()} }; if (${o}.p instanceof foreignTest) ${o}.p = null; class Own { static [Symbol.hasInstance](v) { return foreignTest[Symbol.hasInstance](v); } } print(${fresh()} instanceof Own ? 1 : 0);`),
    () => (rule("stranger under a known name"), `const kept = globalThis.Map, max = Math.max; globalThis.Map = ForeignMap; Math.max = ${g.pick(["builtinId", "foreignMemo", "id"])}; globalThis.harness.memo = undefined; try { const m = new Map([["a", ${fresh()}]]); print(m.get("a")); m.set("b", ${fresh()}); const ${f} = (x) => Math.max(${g.pick(["x", `() => x.add(1)`])}); const ${a} = ${f}(${fresh()}); print(typeof ${a}); print(${f}(${fresh()})?.add ? 1 : 0); if (${a}.add) print(${a}); } finally { globalThis.Map = kept; Math.max = max; }`),
    () => (rule("stranger under a known name"), `const kept = globalThis.Map, one = ${g.pick(["new kept()", "new kept([])", "new (class extends kept {})()"])}; globalThis.Map = new Function("m", "return function () { return m; }")(one); try { { const m = new Map(${g.pick(["", `[["a", ${fresh()}]]`])}); m.set("k", ${fresh()}); print(m.get("k")); } print(one.get("k")); one.set("k", ${fresh()}); print(one.get("k")); } finally { globalThis.Map = kept; }`),
    () => (rule("pairs of a map are kept"), `const m = new Map([["a", ${fresh()}], ["b", ${fresh()}]]); const all = []; for (const e of m) all.push(e); ${g.pick(["", "m.clear();"])} for (const e of m.entries()) ${g.pick(["all.push(e)", "later.push(() => e[1])", "m.delete(e[0])"])}; m.clear(); for (const e of all) print(e[1]);`),
    () => (rule("defaults run other functions"), `let last; const make = () => (last = ${fresh()}); const inner = ({ p = make() } = {}) => p.add(1); const spoil = () => { inner({ p: last }); inner({ p: last }); last = null; return ${g.int(3)}; }; const source = { get b() { return spoil(); } }; function ${f}(w = make(), b = spoil(), c = w.add(b)) { return w.mul(c); } function two({ w = make(), b } = source) { return w.add(b); } function row(w = make(), { b } = source) { return w.add(b); } ${g.pick([`print(${f}());`, "print(two());", "print(row());"])} print(${f}()); print(two()); print(row());`),
  ])();
  return `try { ${body} } catch (e) { print(e.message); }`;
}

/** Those that await. */
export function awaitedStrangers(g) {
  const [f, o] = [g.fresh("f"), g.fresh("o")];
  const t = () => g.t(1);
  rule("stranger awaits");
  const parameters = g.pick(["x", "{ n = 1, m = 2 } = {}, { k = 1, l = 2 } = {}", "{ n = 3 } = {}"]);
  return `try { let ${o}; const ${f} = async (${parameters}) => { const made = { p: ${g.postfix(t())}.add(1), l: [${g.postfix(t())}.add(1)] }; ${o} = made; ${g.pick(["", "await null; "])}return made; }; await foreignLater(${f}()); ${g.pick([`${o}.p = null; ${o}.l.pop();`, `${o}.p = ${t()}; ${o}.l = [];`, `${o} = null;`])} print(${o}?.p ?? 0); const p = ${f}(); const x = await p, y = await p; ${o}.p = ${t()}; print(x.p === y.p ? 1 : 0); print(x.p); } catch (e) { print(e.message); }`;
}
