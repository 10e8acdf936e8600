// Programs that throw every error which V8 has for an expression: see
// tests/fuzz.rs. Each construct is tried with operands of every form and with values of several kinds.
//
// Invariant: what a program prints, names, messages and places of errors, is the same with the ownership
// pass on and off. Deliberately not here: running them.

/** Where `#` stands, an operand goes. */
const CONSTRUCTS = [
  // Calls.
  "#()", "#(t)", "#(t, s)", "#(...list)", "(#)(t)", "#.m()", "#.m(t)", "#.m(t, s)", "#.m.n(t)", "#[key](t)", '#["m"](t)', "#[key].n(t)", "#.m()(t)", "#.m(t)(t)",
  "#?.m(t)", "#?.m.n(t)", "#?.[key](t)", "#?.(t)", "#.m?.(t)", "#.m?.n(t)", "#?.m?.(t).n(t)", "#?.m(t)(t)", "(#.m)(t)", "(#?.m)(t)", "#.call(t)", "#.m.call(t)", "#.apply(t, list)", "#.bind(t)(s)",
  "new (#)", "new (#)(t)", "new (#)(...list)", "new (#.m)(t)", "new (#[key])(t, s)", "#`a`", "#`a${t}`", "#.m`a${t}`", "f(#.a.b)", "f(t, #.a.b, s)",
  "f(#)(t)", "f(t)(#)", "o.f(#)(t)", "o.m(#).n(t)", "C(#)", "new f2(#)", "o.g(#)",
  // Spreading.
  "[...#]", "[t, ...#]", "[...#, t]", "f(...#)", "f(t, ...#)", "f(...#, t)", "o.f(...#)", "o.f(...#, t)", "o.none(...#)", "new C(...#)", "new C(...#, t)", "new C(t, ...#)", "new D(...#)", "list.push(...#)",
  "[...#].length", "Math.max(...#)", "console.none(...#)", "({ ...#.a.b })",
  // Loops.
  "for (const a of #) s.sum();", "for (let a of #) { a = t; }", "for (l of #) s.sum();", "for (o.p of #) s.sum();", "for (const [a] of [#]) s.sum();", "for (const [a, b] of [#]) s.sum();", "for (const { a } of [#]) s.sum();",
  "for (const { a, b } of [#]) s.sum();", "for (const { a: { b } } of [#]) s.sum();", "for (const { a: [b] } of [{ a: # }]) s.sum();", "for (const [a, { b }] of [[t, #]]) s.sum();", "for (const a in #.b.c) s.sum();", "for (const a of #.b) s.sum();",
  "for (const a of #.none()) s.sum();", "for (const a of o.none(#)) s.sum();", "for (const [a, b] of #.none(t)) s.sum();", "for (const a of missing(#)) s.sum();", "[...#.none()]", "f(...o.none(#))", "const [a] = #.none();", "for await (const a of o.none(#)) s.sum();", "for await (const a of #) s.sum();", "for await (const [a] of [#]) s.sum();", "for await (const { a, b } of [#]) s.sum();",
  // Patterns.
  "const [a] = #;", "const [a, b] = #;", "const [a, , b = t] = #;", "const [] = #;", "const [...a] = #;", "const [[a]] = [#];", "const [{ a }] = [#];", "[l] = #;", "[l, o.p] = #;", "[o.p] = #;", "[l = t] = #;", "f([l] = #)",
  "const { a } = #;", "const { a, b } = #;", "const {} = #;", "const { a: { b } } = #;", "const { a: [b] } = { a: # };", "const { a: { b } } = { a: # };", "const { [key]: a } = #;", "const { 1: a } = #;", 'const { "a b": a } = #;', "const { a = t } = #;", "const { a: { b } = # } = {};",
  "const { ...a } = #;", "const { a, ...b } = #;", "({ l } = #);", "({ a: l } = #);", "({ a: o.p } = #);", "({ a: l, b: o.p } = #);", "({ l = t } = #);", "f({ l } = #)", "let { a } = #, b = a;", "var { a } = #;", "const { a } = #, [b] = #;",
  "(([a]) => a)(#)", "(({ a }) => a)(#)", "(({ a, b }) => a)(#)", "(({ a: { b }, c }) => c)(#)", "(({ a: { b } }) => b)({ a: # })", "(([a] = #) => a)()", "(({ a } = #) => a)()", "((a = #.b.c) => a)()", "(({ a = #.b.c }) => a)({})", "takes(#)", "takesTwo(#)", "takesDeep(#)", "takesList(#)", "takesDefault(#)",
  "try { throw #; } catch ({ a }) { s.sum(); }", "try { throw #; } catch ([a]) { s.sum(); }", "try { throw #; } catch ({ a: { b } }) { s.sum(); }", "throw #;",
  // Members.
  "#.a", "#.a.b", "#.a.b.c", "#[key]", "#[key].b", "#[t]", "#[0][1]", "#.a = t", "#[key] = t", "#.a.b = t", "#.a.b ??= t", "#.a += 1", "#.a++", "#.a ||= t", "delete #.a", "delete #.a.b", "delete #[key].b", "#.T", "#.grad", "#.norm", "#.a.norm", "#.T.a", "#?.a.b", "#?.a.b.c", "#.a?.b.c", "(#?.a).b", "#?.[key].b", "#.a.T.b",
  "(#).a.b.add(t)", "s.add(#.a.b)", "s.add(#)", "s.none(#)", "s.none.b(#)", "s.sum().none(#)", "s.T.none(#)", "s.sum().none.b", "o.m(t).a.b", "({ a: #.b.c })", "[#.b.c, t]", "return #.b.c;", "return #.b(t);", "l = #.b.c;", "o.p = #.b.c;", "o[#.b.c] = t;",
  // Classes.
  "class A extends # {}", "class A extends # { constructor(a) { super(a); } }", "new (class extends # {})(t)", "class A { [#.b.c] = t; }", "new (class { a = #.b.c; })()", "class A { static a = #.b(t); }", "class A { static { #.b(t); } }", "new (class { #p = #; m(o) { return o.#p; } })().m(#)", "new (class { #p = t; m(o) { o.#p = t; } })().m(#)",
  "new (class { #p() { return t; } m(o) { return o.#p(t); } })().m(#)", "new (class { #p = t; m() { return this.#p(#); } })().m()", "new (class { get #p() { return t; } m(o) { o.#p = t; } })().m(o)", "new (class { #p = t; m(o) { return #p in o; } })().m(#)", "new (class extends C { constructor() { t.sum(); super(#.b.c); } })()", "new (class extends C { constructor() { this.a = #; super(t); } })()",
  "new (class extends C { m() { return super.none(#); } })(t).m()", "new (class extends C { m() { return super.none.a(#); } })(t).m()", "new (class extends C { constructor() { } })(t)", "new (class extends C { constructor() { super(t); super(t); } })(t)", "new (class extends C { constructor() { return 1; } })(t)", "C(t, #)", "({ get a() { return #.b.c; } }).a", "({ set a(v) { v.b.c; } }).a = #", "+{ valueOf() { return #.b.c; } }",
  // Operators and conversions.
  "t in #", "key in #", "# in o", "t instanceof #", "# instanceof f", "# instanceof C", "+#", "-#", "# + 1n", "# * 1n", "1n + #", "`${#}`", "`a${#}b${t}`", "# + ''", "# < 1", "# == 1n", "l += #", "o.x += #", "o[#]", "o[#] = t", "~#.b.c", "typeof #.b.c", "void #.b.c", "!#.b.c", "# ?? t.none(t)", "#.b.c ? t : s", "if (#.b.c) t.sum();", "while (#.b.c) t.sum();", "switch (#.b.c) { default: t.sum(); }", "#.b.c, t",
  // Variables.
  "k = #;", "k += #;", "[k] = [#];", "({ k } = { k: # });", "k++;", "{ u.add(#); let u = t; }", "{ u = #; let u; }", "{ const u = u.add(#); }", "{ const [u] = [u, #]; }", "{ new U(#); class U {} }", "{ class U extends U {} }", "missing(#)", "missing.a(#)", "f(missing, #)", "missing[#]", "new missing(#)", "missing = #;", "[missing] = [#];", "missing++;", "((a = b, b = #) => a)()", "typeof u2 + #; let u2;", "for (const a of a) t.sum();", "const v = #; v = t;", "for (const a of [#]) a = t;", "(function g() { 'use strict'; g = #; })();", "Object.freeze(o).x = #;",
  // Steps.
  "await #.b.c", "await #.b(t)", "await f(#)(t)", "yield* #", "yield #.b.c", "[...(function* () { yield* #; })()]", "[...(function* () { yield #.b(t); })()]", "[...(function* () { yield t; throw new Error('a'); })(#)]", "[l] = (function* () { throw new Error('a'); })(#)", "for (const a of (function* () { yield t; #.b.c; })()) a.sum();", "for (const a of { [Symbol.iterator]: # }) t.sum();", "for (const a of { [Symbol.iterator]: () => # }) t.sum();",
  "for (const a of { [Symbol.iterator]: () => ({ next: () => # }) }) { t.sum(); break; }", "[...{ [Symbol.iterator]: # }]", "f(...{ [Symbol.iterator]: # })", "f(...{ [Symbol.iterator]: () => # })", "const [a] = { [Symbol.iterator]: # };", "const [a] = { [Symbol.iterator]: () => # };",
  // Builtins.
  "[t].map(#)", "[t].forEach(#, t)", "[t].reduce(#)", "[t, s].reduce(#, t)", "[].reduce((a, b) => a.add(b))", "[t, s].sort(#)", "[t].filter(#)", "[t].flatMap(#)", "[t].find(#)", "Array.from(#)", "Array.from(#, (a) => a)", "Array.from([t], #)", "Object.assign(#, { a: t })", "Object.entries(#)", "Object.fromEntries(#)", "Object.fromEntries([#])", "new Map(#)", "new Map([#])", "new Set(#)", "f.apply(t, #)", "Reflect.apply(#, t, [s])", "await Promise.all(#)", "await Promise.all([#.b.c])", "new WeakMap().set(#, t)", "Symbol(t).a.b(#)", "BigInt(#)", "Object.defineProperty(#, 'a', { value: t })", "Object.create(#)", "JSON.parse(#)", "[t].map((a) => #.b.c)", "[t].map((a) => a.none(#))", "[t].reduce((a, b) => #.b.c, t)", "Array.from([t], (a) => #(a))", "[3, 1].sort(() => #.b.c)", "[t].at(#)", "new Array(-1, #).length = -1",
];

/** Operands of every form whose value is that of `x`. */
const OPERANDS = ["x", "l", "c", "(x)", "o.x", "o.y.x", "o[key]", "o?.x", "o?.y.x", "o.y?.x", "f()", "f(t)", "id(x)", "o.f()", "o.f(t)", "o?.f(t)", "o.y.f(t)", "(0, x)", "(t ? x : s)", "(x ?? x)", "(l = x)", "new C(x).a", "[x][0]", "f(t, s)", "this.x", "(await x)"];

/** What `x` is. */
const VALUES = ["undefined", "null", "1", "{}", "Symbol('y')", "() => t", "t", "[undefined]"];

const PRELUDE = `import { ones } from "mlrun";
const { print } = globalThis.harness;
const t = ones([2]), list = [t], key = "x";
let captured;
class C { constructor(a) { this.a = a; } get norm() { return this.a.sum(); } m() { return t; } }
class D extends C { m() { return super.m(); } }
function f2() {}
const takes = ({ a }) => a, takesTwo = ({ a, b }, { c, d }) => a, takesDeep = ({ a: { b }, c }) => c, takesList = ([a, [b]]) => a, takesDefault = ({ a: { b } } = {}, c = a) => b;
const id = (a) => a;
async function show(name, run) {
  for (const v of [${VALUES.join(", ")}]) {
    captured = v;
    const o = { x: v, f: () => v, m: () => t, y: { x: v, f: () => v } };
    try { await run.call(o, v, o, () => v); print(name + " passes"); } catch (e) {
      const frame = typeof e?.stack === "string" ? e.stack.split("\\n").find((line) => line.startsWith("    at ")) : "";
      print(name + " | " + (e instanceof Error ? e.name + ": " + e.message : "no error") + " | " + frame?.replace(/\\(?file:.*\\//, ""));
    }
  }
}
`;

/** What is not the same yet, or where V8 itself has no place to name. */
const ODD = [
  // V8 has no place for what an optional chain gives.
  [/\.\.\.#/, /^o.*\?\./], [/\+= #/, /\?\./], [/\$\{#\}/, /^c$|\?\./],
  [/^delete #\.a$|extends # \{/, /^\(/], [/^new \(class extends # \{\}\)/, /^[xlc]$/],
  // The runtime half is part of what V8 prints.
  [/^const \{ a: \[b\] \} = \{ a: # \};$|^yield\* #$/, /./],
  [/^(for|f\(|\[|const).*\{ \[Symbol\.iterator\]: #/, /./],
  [/^t instanceof #$/, /./], [/\.m\(#\)$/, /^\(l =/],
  // Tagged templates, logical assignments to members, fields whose value has slots (a function of its own), methods of super.
  [/`a/, /./], [/^#\.a(\.b)? (\?\?|\|\|)= t$/, /./], [/^#\.a(\+\+| \+= 1)$/, /\.f\(|^\(l =/], [/^(new \(class|class A) \{ (static )?a = #\.b/, /./], [/super\(#\.b\.c\)/, /^this/], [/super\.none/, /./],
  [/^\[\.\.\.#\.none/, /^new /], [/^const \[a\] = #\.none|^\(\(\[a\] = #\)|\{ yield\* #; \}/, /./],
];
const isOdd = (construct, operand) => ODD.some(([c, o]) => c.test(construct) && o.test(operand));

/** Not every operand may stand everywhere. */
function isFunction(text) {
  try {
    new Function(`"use strict"; (${text});`);
    return true;
  } catch {
    return false;
  }
}

/** One program for each construct. */
function programs() {
  return CONSTRUCTS.map((construct) => {
    const operands = (construct.replaceAll("#p", "").includes("#") ? OPERANDS : ["x"]).filter((o) => !isOdd(construct, o));
    const functions = operands.map((operand) => {
      const text = construct.replaceAll(/#(?!p\b)/g, operand === "c" ? "captured" : operand);
      const kind = `${text.includes("await") ? "async " : ""}function${text.startsWith("yield") ? "*" : ""}`;
      const body = `const s = t.add(1), k = s; let l = x; ${text}${text.endsWith(";") || text.endsWith("}") ? "" : ";"} s.sum(); l = s; return k.sum();`;
      const run = kind.endsWith("*") ? `function (x, o, f) { return (${kind} () { ${body} }).call(this).next(); }` : `${kind} (x, o, f) { ${body} }`;
      return isFunction(run) ? `await show(${JSON.stringify(text)}, ${run});` : "";
    });
    return PRELUDE + functions.join("\n") + "\n";
  });
}

for (const program of programs()) console.log(JSON.stringify(program));
console.log("{}");
