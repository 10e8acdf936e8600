// Random programs whose patterns, loops and conversions run getters, iterators and proxies, which take
// out of an object what was read of it before. A part of generator.js.

/** Patterns whose reads run code, which takes out of the object what they have read before. */
export function getters(g, rule, indent) {
  const t = () => g.t(1);
  const [a, b, c, f, o] = [g.fresh("t"), g.fresh("t"), g.fresh("t"), g.fresh("f"), g.fresh("c")];
  const object = () => g.pick([() => `new Taker(${t()}, ${t()})`, () => `new Taker(${t()}, ${t()})`, () => `foreignTaker(${t()}, ${t()})`, () => `{ p: ${t()}, q: ${t()}, g: ${t()}, o: { p: ${t()}, q: ${t()} } }`])();
  const holder = `const ${o} = { k: ${object()}, list: [${object()}, ${object()}], pairs: [[${t()}, ${object()}]] }; takers.push(() => { ${g.pick([`${o}.k = ${object()}`, `${o}.list.length = 0`, `${o}.pairs.pop()`, `${o}.k.p = ${t()}`, `${o}.k = null`, `${o}.pairs.length && (${o}.pairs[0][0] = ${t()})`])}; });`;
  const keys = () => g.pick([`p: ${a}, g: ${b}, q: ${c}`, `g: ${b}, p: ${a}, q: ${c}`, `p: ${a}, h: ${b}, q: ${c}`, `q: ${a}, n: ${c} = 1, h: ${b}, p: ${c}_2`]);
  const deep = () => g.pick([`k: { ${keys()} }`, `k: { o: { p: ${a}, q: ${c} }, g: ${b} }`, `list: [{ p: ${a}, g: ${b} }, { q: ${c} }]`, `pairs: [[${a}, { h: ${b}, q: ${c} }]]`, `list: [, { p: ${a} }], k: { g: ${b}, p: ${c} }`]);
  const show = `print(${a}); print(${b} ?? 0); print(${c});`;
  const uses = () => g.pick([show, `print(${a}.add(${c}));`, `kept.push(${a}); print(${c});`, `later.push(() => ${a}); ${show}`]);
  const body = g.pick([
    () => (rule("getter in a pattern"), `const { ${keys()} } = ${o}.k; ${uses()}`),
    () => (rule("getter in a pattern"), `let ${a}, ${b}, ${c}, ${c}_2; ({ ${keys()} } = ${o}.${g.pick(["k", "list[0]"])}); ${show}`),
    () => (rule("getter in a nested pattern"), `const { ${deep()} } = ${o}; ${uses()}`),
    () => (rule("getter in a nested pattern"), `const [${a}, { h: ${b}, q: ${c} }] = ${o}.pairs[0]; ${uses()}`),
    () => (rule("getter in a parameter"), `const ${f} = ({ ${keys()} }) => { ${uses()} return ${a}; }; print(${f}(${o}.k));`),
    () => (rule("getter in a parameter"), `const ${f} = ({ ${deep()} }) => { ${uses()} return ${c}; }; print(${f}(${o}));`),
    () => (rule("getter in a parameter"), `const ${f} = ({ p: ${a} }, { g: ${b}, q: ${c} }) => { ${uses()} return ${a}; }; print(${f}(${o}.k, ${g.pick([`${o}.list[0]`, `${o}.k`])}));`),
    () => (rule("getter in a loop"), `for (const { ${keys()} } of ${g.pick([`${o}.list`, `${o}.list.values()`, `[${o}.k, ${o}.list[1]]`, `(function* () { yield ${o}.k; yield* ${o}.list; })()`])}) { ${uses()} ${g.pick(["", "break;"])} }`),
    () => (rule("getter in a loop"), `for (const [${a}, { h: ${b}, q: ${c} }] of ${o}.pairs) { ${uses()} }`),
    () => (rule("getter of other code in a pattern"), `const { ${keys()} } = foreignTaker(${t()}, ${t()}); ${uses()}`),
    () => (rule("iterator in a pattern"), `const [${a}, ${c}] = ${o}.${g.pick(["k", "list[0]"])}[Symbol.iterator] ? ${o}.k : [${t()}, ${t()}]; print(${a}); print(${c}); for (const [x, y] of [new Taker(${t()}, ${t()})]) print(x.add(y));`),
    () => (rule("proxy in a pattern"), `const target = ${o}.k; const { ${keys()} } = new Proxy(target, { get(at, key) { take(); at.p = ${t()}; return at[key]; } }); ${uses()}`),
    () => (rule("class behind a pattern"), `const { p: ${a} } = ${o}.k, ${c}C = class { static { take(); if (${o}.k) ${o}.k.p = ${t()}; } }, { q: ${c} } = ${o}.k ?? { q: ${t()} }; print(${a}); print(${c}); print(${c}C.name);`),
    () => (rule("getter empties its place"), `print(${o}.k.${g.pick(["sum", "g", "h", "p"])} ?? 0); print(${o}.list.length ? ${o}.list[0].${g.pick(["sum", "h"])} ?? 0 : 0); print(+${o}.k);`),
  ])();
  return `${indent}try { ${holder} ${body} } catch (e) { print(e.message); } finally { takers.length = 0; }`;
}
