// Random programs for the ownership pass: `node generate.mjs OUT_DIR FIRST_SEED COUNT`.
//
// Each program prints values through `print`; plain and compiled runs must print the same.

import { mkdirSync, writeFileSync } from "node:fs";

function rng(seed) {
  let s = seed * 2654435761 % 4294967296 || 1;
  return () => {
    s ^= s << 13; s >>>= 0; s ^= s >>> 17; s ^= s << 5; s >>>= 0;
    return s / 4294967296;
  };
}

/** How often each rule was exercised. */
const rules = {};
function rule(name) {
  rules[name] = (rules[name] ?? 0) + 1;
}

class Generator {
  constructor(seed) {
    this.random = rng(seed);
    this.names = 0;
    this.depth = 0;
    // Variables in scope: { name, kind: "t" tensor | "n" number | "f" function | "a" array | "o" object, assignable }
    this.scope = [];
    this.loops = 0;
    this.labels = [];
    this.inFunction = false;
    this.inAsync = false;
    this.inGenerator = false;
    this.inTry = 0;
  }

  int(n) { return Math.floor(this.random() * n); }
  chance(p) { return this.random() < p; }
  pick(list) { return list[this.int(list.length)]; }
  fresh(prefix) { return `${prefix}${this.names++}`; }
  vars(kind, assignable = false) {
    return this.scope.filter((v) => v.kind === kind && (!assignable || v.assignable));
  }

  /** An expression whose value is a tensor of shape [2]. */
  t(d = 3) {
    const vars = this.vars("t");
    if (d <= 0) return vars.length && this.chance(0.8) ? this.pick(vars).name : `full([2], ${this.int(5)})`;
    const sub = () => this.t(d - 1);
    const options = [
      () => (vars.length ? this.pick(vars).name : `full([2], ${this.int(5)})`),
      () => (vars.length ? this.pick(vars).name : sub()),
      () => `full([2], ${this.n(d - 1)})`,
      () => `${this.postfix(sub())}.add(${this.chance(0.5) ? sub() : this.int(4)})`,
      () => `${this.postfix(sub())}.mul(${sub()})`,
      () => `${this.postfix(sub())}.sub(${sub()})`,
      () => `${this.postfix(sub())}.neg()`,
      () => `(${this.n(1)} % 2 ? ${sub()} : ${sub()})`,
      () => `(${sub()} || ${sub()})`,
      () => `(${sub()} && ${sub()})`,
      () => `(null ?? ${sub()})`,
      () => `(${sub()}, ${sub()})`,
      () => this.call(d, "t"),
      () => this.call(d, "t"),
      () => this.assignExpr(d),
      () => `[${sub()}, ${sub()}][${this.int(2)}]`,
      () => `({ p: ${sub()}, q: ${sub()} }).${this.pick(["p", "q"])}`,
      () => `${this.postfix(sub())}?.add(${sub()})`,
      () => `((p) => ${this.inner("p", () => this.t(d - 2))})(${sub()})`,
      () => `id(${sub()})`,
      () => `builtinId(${sub()})`,
      () => `remember(${sub()})`,
      () => this.element(d),
      () => this.field(d),
    ];
    return this.pick(options)();
  }

  inner(name, body) {
    const save = this.scope.length;
    this.scope.push({ name, kind: "t", assignable: true });
    const text = body();
    this.scope.length = save;
    return text;
  }

  postfix(e) { return /^[a-z]\w*$/.test(e) ? e : `(${e})`; }

  element(d) {
    const arrays = this.vars("a");
    return arrays.length ? `(${this.pick(arrays).name}[${this.int(3)}] ?? ${this.t(d - 1)})` : this.t(d - 1);
  }

  field(d) {
    const objects = this.vars("o");
    return objects.length ? `(${this.pick(objects).name}.${this.pick(["p", "q", "r"])} ?? ${this.t(d - 1)})` : this.t(d - 1);
  }

  assignExpr(d) {
    const vars = this.vars("t", true);
    if (!vars.length) return this.t(d - 1);
    return `(${this.pick(vars).name} ${this.pick(["=", "=", "=", "||=", "&&=", "??="])} ${this.t(d - 1)})`;
  }

  call(d, kind) {
    const functions = this.vars("f").filter((f) => f.result === kind);
    if (!functions.length) return this.t(d - 1);
    const f = this.pick(functions);
    return `${f.name}(${f.params.map(() => this.t(d - 1)).join(", ")})`;
  }

  n(d = 2) {
    const vars = this.vars("n");
    const options = [
      () => `${this.int(9)}`,
      () => (vars.length ? this.pick(vars).name : "1"),
      () => `${this.postfix(this.t(d - 1))}.index(${this.int(2)}).item()`,
      () => `(${this.n(d - 1)} + ${this.n(d - 1)})`,
    ];
    return d <= 0 ? this.pick(options.slice(0, 2))() : this.pick(options)();
  }

  block(d, indent) {
    const save = this.scope.length;
    const out = [];
    for (let i = 0, n = 1 + this.int(4); i < n; i++) out.push(this.statement(d - 1, indent + "  "));
    this.scope.length = save;
    return `{\n${out.join("\n")}\n${indent}}`;
  }

  statement(d, indent) {
    const pad = (s) => indent + s;
    const options = [
      () => this.declare(indent), () => this.declare(indent), () => this.declare(indent),
      () => this.assign(indent), () => this.assign(indent),
      () => pad(`print(${this.t(2)});`), () => pad(`print(${this.t(2)});`),
      () => pad(`${this.t(2)};`),
      () => this.container(indent), () => this.container(indent),
      () => this.mutate(indent), () => this.mutate(indent),
    ];
    if (d > 0) {
      options.push(
        () => pad(`if (${this.n(1)} % 2) ${this.block(d, indent)}${this.chance(0.5) ? ` else ${this.block(d, indent)}` : ""}`),
        () => this.loop(d, indent), () => this.loop(d, indent),
        () => this.tryStatement(d, indent),
        () => this.func(d, indent), () => this.func(d, indent), () => this.func(d, indent),
        () => this.switchStatement(d, indent),
        () => pad(this.block(d, indent)),
        () => this.forOf(d, indent),
        () => this.generatorUse(d, indent),
      );
    }
    if (d > 0) {
      options.push(
        () => this.classUse(indent), () => this.classUse(indent), () => this.defaults(indent),
        () => this.natives(indent), () => this.natives(indent), () => this.delegated(d, indent),
        () => this.finallyUse(indent),
      );
    }
    if (this.loops > 0) options.push(() => pad(`if (${this.n(1)} % 3 === 0) ${this.pick(["break", "continue"])};`));
    if (this.labels.length && this.loops > 0) options.push(() => pad(`if (${this.n(1)} % 3 === 1) ${this.pick(["break", "continue"])} ${this.pick(this.labels)};`));
    if (this.inFunction && this.chance(0.4)) options.push(() => pad(`if (${this.n(1)} % 4 === 0) return ${this.t(2)};`));
    if (this.inTry > 0) options.push(() => pad(`if (${this.n(1)} % 3 === 0) throw new Error("e${this.int(9)}");`));
    if (this.inAsync) options.push(() => pad("await null;"), () => pad(`print(await id(${this.t(1)}));`));
    if (this.inGenerator) options.push(() => pad(`yield ${this.t(2)};`));
    return this.pick(options)();
  }

  declare(indent) {
    const name = this.fresh("t");
    const keyword = this.pick(["let", "const", "let", "var"]);
    const text = `${indent}${keyword} ${name} = ${this.t()};`;
    if (keyword !== "var") this.scope.push({ name, kind: "t", assignable: keyword !== "const" });
    return text;
  }

  assign(indent) {
    const vars = this.vars("t", true);
    if (vars.length > 1 && this.chance(0.15)) return `${indent}[${this.pick(vars).name}, ${this.pick(vars).name}] = [${this.t(2)}, ${this.t(2)}];`;
    return vars.length ? `${indent}${this.pick(vars).name} = ${this.t()};` : this.declare(indent);
  }

  container(indent) {
    const name = this.fresh("c");
    const choices = [
      () => { const s = `${indent}const ${name} = [${this.t(2)}, ${this.t(2)}];`; this.scope.push({ name, kind: "a" }); return s; },
      () => { const s = `${indent}let ${name} = { p: ${this.t(2)}, q: ${this.t(2)} };`; this.scope.push({ name, kind: "o" }); return s; },
      () => { const b = this.fresh("t"); const s = `${indent}const { p: ${name}, q: ${b} } = { p: ${this.t(2)}, q: ${this.t(2)} };`; this.scope.push({ name, kind: "t" }, { name: b, kind: "t" }); return s; },
      () => { const b = this.fresh("t"); const s = `${indent}let [${name}, ${b} = ${this.t(1)}] = [${this.t(2)}];`; this.scope.push({ name, kind: "t", assignable: true }, { name: b, kind: "t", assignable: true }); return s; },
      () => { const s = `${indent}const ${name} = new Box(${this.t(2)});`; this.scope.push({ name, kind: "o" }); return s; },
      () => { const from = this.vars("a"); const s = `${indent}const ${name} = ${from.length ? `[...${this.pick(from).name}, ${this.t(1)}]` : `[${this.t(1)}]`};`; this.scope.push({ name, kind: "a" }); return s; },
    ];
    return this.pick(choices)();
  }

  mutate(indent) {
    const a = this.vars("a"), o = this.vars("o");
    const options = [];
    if (a.length) {
      const name = () => this.pick(a).name;
      options.push(
        () => `${name()}[${this.int(3)}] = ${this.t(2)};`, () => `${name()}.push(${this.t(2)});`, () => `${name()}.length = ${this.int(3)};`,
        () => `print(${name()}.map((p) => ${this.inner("p", () => this.t(1))}).length);`,
        () => `${name()}.forEach((p) => { ${this.inner("p", () => `print(${this.t(1)})`)}; });`,
        () => `print(${name()}.reduce((p, q) => p.add(q), ${this.t(1)}));`,
        () => `${name()}.pop();`, () => `keepArray(${name()});`,
      );
    }
    if (o.length) {
      const name = () => this.pick(o).name;
      options.push(() => `${name()}.${this.pick(["p", "q"])} = ${this.t(2)};`, () => `${name()}.r ??= ${this.t(2)};`, () => `delete ${name()}.${this.pick(["p", "q"])};`,
        () => `kept.push(${name()});`, () => `${name()}.get?.();`, () => `print(${name()}.get ? ${name()}.get() : 0);`, () => `${name()}.set?.(${this.t(2)});`);
    }
    options.push(() => `kept.push(${this.t(2)});`, () => `later.push(() => ${this.t(1)});`);
    return indent + this.pick(options)();
  }

  loop(d, indent) {
    const i = this.fresh("i");
    const label = this.chance(0.2) ? this.fresh("L") : null;
    const save = this.scope.length;
    this.loops++;
    if (label) this.labels.push(label);
    const outerT = this.fresh("t");
    const kind = this.int(4);
    let head;
    let tail = "";
    if (kind === 0 && this.chance(0.7)) {
      head = `for (let ${i} = 0, ${outerT} = ${this.t(1)}; ${i} < ${1 + this.int(3)}; ${i}++, ${outerT} = ${outerT}.add(1))`;
      this.scope.push({ name: outerT, kind: "t", assignable: true });
    } else if (kind === 1) {
      head = `for (let ${i} = 0; ${i} < ${1 + this.int(3)}; ${i}++)`;
    } else if (kind === 2) {
      head = `for (const ${i} in { a: 1, b: 2 })`;
    } else {
      head = `for (const ${i} of [1, 2, 3])`;
    }
    if (kind !== 2) this.scope.push({ name: i, kind: "n" });
    const body = this.block(d, indent);
    this.scope.length = save;
    this.loops--;
    if (label) this.labels.pop();
    return `${indent}${label ? `${label}: ` : ""}${head} ${body}${tail}`;
  }

  forOf(d, indent) {
    const name = this.fresh("t");
    const a = this.vars("a");
    const source = a.length && this.chance(0.7) ? `${this.pick(a).name}.slice()` : `[${this.t(2)}, ${this.t(2)}]`;
    const save = this.scope.length;
    this.loops++;
    this.scope.push({ name, kind: "t", assignable: true });
    const body = this.block(d, indent);
    this.scope.length = save;
    this.loops--;
    return `${indent}for (let ${name} of ${source}) ${body}`;
  }

  tryStatement(d, indent) {
    this.inTry++;
    const body = this.block(d, indent);
    this.inTry--;
    const kind = this.int(3);
    const handler = kind !== 1 ? ` catch (e) { print(e.message); }` : ` catch { ${this.statement(0, "").trim()} }`;
    const finalizer = kind === 2 ? ` finally ${this.block(d - 1, indent)}` : "";
    return `${indent}try ${body}${handler}${finalizer}`;
  }

  switchStatement(d, indent) {
    const save = this.scope.length;
    const cases = [0, 1, 2].map((i) => {
      const s = this.statement(0, "").trim();
      this.scope.length = save;
      return `${indent}  case ${i}: { ${s} }${this.chance(0.5) ? " break;" : ""}`;
    });
    return `${indent}switch (${this.n(1)} % 4) {\n${cases.join("\n")}\n${indent}  default: print("d");\n${indent}}`;
  }

  func(d, indent) {
    const name = this.fresh("f");
    const params = Array.from({ length: this.int(3) }, () => this.fresh("p"));
    const save = this.scope.length;
    const state = [this.loops, this.labels, this.inFunction, this.inTry, this.inAsync, this.inGenerator];
    [this.loops, this.labels, this.inFunction, this.inTry, this.inAsync, this.inGenerator] = [0, [], true, 0, false, false];
    for (const p of params) this.scope.push({ name: p, kind: "t", assignable: true });
    let text;
    const kind = this.int(5);
    if (kind === 0) text = `${indent}const ${name} = (${params.join(", ")}) => ${this.t(2)};`;
    else {
      const body = this.block(d, indent);
      const end = `return ${this.t(2)};`;
      const full = body.replace(/\n(\s*)\}$/, (m, p) => `\n${p}  ${end}\n${p}}`);
      if (kind === 1) text = `${indent}function ${name}(${params.join(", ")}) ${full}`;
      else if (kind === 2) text = `${indent}const ${name} = function (${params.join(", ")}) ${full};`;
      else text = `${indent}const ${name} = (${params.join(", ")}) => ${full};`;
    }
    this.scope.length = save;
    [this.loops, this.labels, this.inFunction, this.inTry, this.inAsync, this.inGenerator] = state;
    this.scope.push({ name, kind: "f", result: "t", params });
    return `${text}`;
  }

  /** An expression in a function of its own, which sees `names` too. */
  within(names, body) {
    const save = this.scope.length;
    for (const name of names) this.scope.push({ name, kind: "t", assignable: false });
    const text = body();
    this.scope.length = save;
    return text;
  }

  classUse(indent) {
    rule("class");
    const [A, B, o] = [this.fresh("A"), this.fresh("B"), this.fresh("c")];
    const field = () => this.pick([() => this.t(1), () => `${this.t(1)}.add(1)`, () => "kept0", () => `[${this.t(1)}]`])();
    const captured = this.chance(0.2) ? (rule("class closure"), ` read = () => this.p;`) : "";
    const priv = this.chance(0.5) ? (rule("private field"), ` #w = ${field()}; step(t) { const old = this.#w; this.#w = t; return old; } clear() { this.#w = null; }`) : " step(t) { return t; } clear() {}";
    const base = `class ${A} { p = ${field()};${priv}${captured} constructor(q) { this.q = q;${this.chance(0.1) ? " lastMade = this;" : ""} } get half() { return this.p; } set half(v) { this.p = v; } swap(t) { const old = this.q; this.q = t; return old; } static { this.made = 0; } }`;
    const derived = `class ${B} extends ${A} { r = ${this.pick(["this.p", "this.q", this.t(1)])}; constructor(q) { super(${this.chance(0.5) ? "q" : "q.add(1)"}); this.s = ${this.pick(["q", "this.r", "this.half"])}; } }`;
    const C = this.chance(0.6) ? (rule("derived class"), B) : A;
    const lines = [base, derived];
    const made = this.chance(0.15) ? (rule("foreign new"), `foreignNew(${C}, ${this.t(1)})`) : `new ${C}(${this.t(1)})`;
    lines.push(`const ${o} = ${made};`);
    this.scope.push({ name: o, kind: "o" });
    for (let i = this.int(4); i >= 0; i--) {
      lines.push(this.pick([
        () => `print(${o}.swap(${this.t(1)}) ?? 0);`, () => `${o}.half = ${this.t(1)};`, () => `print(${o}.half ?? 0);`,
        () => `${o}.p = null;`, () => `print(${o}.step?.(${this.t(1)})?.add?.(1) ?? 0);`, () => `${o}.clear?.();`,
        () => `seeLater(${o});`, () => `print(${o}.read?.() ?? 0);`,
      ])());
    }
    return lines.map((l) => indent + l).join("\n");
  }

  defaults(indent) {
    rule("default");
    const [f, a, b] = [this.fresh("f"), this.fresh("p"), this.fresh("p")];
    const first = this.t(1);
    const second = this.within([a], () => this.t(1));
    const body = this.within([a, b], () => this.t(2));
    const list = this.chance(0.3) ? (rule("arguments"), true) : false;
    const text = list
      ? `function ${f}(${a} = ${first}, ${b} = ${second}) { if (arguments[0]) print(arguments[0]); return ${body}; }`
      : `const ${f} = (${a} = ${first}, ${b} = ${second}${this.chance(0.2) ? `, k = (later.push(() => ${a}), 0)` : ""}) => ${body};`;
    const call = this.pick([`${f}()`, `${f}(${this.t(1)})`, `${f}(undefined, ${this.t(1)})`, `${f}(...[${this.t(1)}, ${this.t(1)}])`]);
    if (call.includes("...")) rule("spread argument");
    return `${indent}${text}\n${indent}print(${call});`;
  }

  natives(indent) {
    const t = () => this.t(1);
    return indent + this.pick([
      () => (rule("bound function"), `print(((p, q) => p.add(q)).bind(null, ${t()})(${t()}));`),
      () => (rule("call and apply"), `print(id.call(null, ${t()})); print(id.apply(null, [${t()}]));`),
      () => (rule("native callback"), `print(Array.from({ length: 2 }, () => ${t()}).length); print([${t()}, ${t()}].map(id)[1]);`),
      () => (rule("species"), `print(new Odd(${t()}, ${t()}).map((p) => p).length);`),
      () => (rule("indirect eval"), `print((0, eval)("(v) => (globalThis.harness.evaluated = v)")(${t()})); print(globalThis.harness.evaluated);`),
      () => (rule("map and set"), `{ const m = new Map([["k", ${t()}]]); m.set("j", ${t()}); print(m.get("k")); print(m.get("j")); }`),
      () => (rule("result seen"), `seeResult(() => ({ p: ${t()}, q: { p: ${t()} } }));`),
      () => (rule("filled array"), `{ const xs = []; xs.push(${t()}, ${t()}); xs[2] = ${t()}; print(xs.pop()); print(xs.map((p) => p.add(1))[0]); }`),
      () => (rule("replaced builtin"), `{ const max = Math.max; Math.max = id; const v = Math.max(${t()}); kept.push(v); Math.max = max; print(v); }`),
      () => (rule("json and object"), `print(Object.entries({ p: ${t()} })[0][1]); print(Object.assign({}, { p: ${t()} }).p);`),
    ])();
  }

  delegated(d, indent) {
    rule("yield*");
    const [g, h, v] = [this.fresh("g"), this.fresh("g"), this.fresh("t")];
    const inner = this.within(["x"], () => this.t(1));
    const last = this.within(["x"], () => this.t(1));
    const loop = this.chance(0.3) ? (rule("stepping by hand"), `{ const it = ${g}(${this.t(1)}); print(it.next().value); for (const ${v} of it) { print(${v}.add(1)); print(it.next().value ?? 0); } }`)
      : `for (const ${v} of ${this.pick([g, h])}(${this.t(1)})) { const w = ${v}.add(1); ${this.pick(["print(w);", `print(${v});`, `kept.push(${v});`, "if (w) break;"])} }`;
    return `${indent}function* ${g}(x) { const y = ${inner}; yield y; try { yield ${last}; } finally { print(x); } yield x.add(1); }\n${indent}function* ${h}(x) { yield* ${g}(x); yield x; }\n${indent}${loop}`;
  }

  finallyUse(indent) {
    rule("finally that returns");
    const f = this.fresh("f");
    const body = this.within(["p"], () => `try { ${this.chance(0.3) ? "throw new Error('x');" : ""} return ${this.t(1)}; } ${this.chance(0.4) ? `catch (e) { return ${this.t(1)}; }` : ""} finally { ${this.pick([() => `print(${this.t(1)});`, () => `if (p) return ${this.t(1)};`, () => `id(${this.t(1)});`])()} }`);
    this.scope.push({ name: f, kind: "f", result: "t", params: ["p"] });
    return `${indent}const ${f} = (p) => { ${body} return p; };\n${indent}try { print(${f}(${this.t(1)}).add(1)); } catch (e) { print(e.message); }`;
  }

  generatorUse(d, indent) {
    const name = this.fresh("g");
    const p = this.fresh("p");
    const save = this.scope.length;
    const state = [this.loops, this.labels, this.inFunction, this.inTry, this.inAsync, this.inGenerator];
    [this.loops, this.labels, this.inFunction, this.inTry, this.inAsync, this.inGenerator] = [0, [], false, 0, false, true];
    this.scope.push({ name: p, kind: "t", assignable: true });
    const body = this.block(d, indent);
    this.scope.length = save;
    [this.loops, this.labels, this.inFunction, this.inTry, this.inAsync, this.inGenerator] = state;
    const v = this.fresh("t");
    return `${indent}function* ${name}(${p}) ${body}\n${indent}for (const ${v} of ${name}(${this.t(1)})) { print(${v}); ${this.chance(0.3) ? "break; " : ""}}`;
  }

  asyncTask(indent) {
    const name = this.fresh("async");
    const p = this.fresh("p");
    const save = this.scope.length;
    [this.inFunction, this.inAsync] = [true, true];
    this.scope.push({ name: p, kind: "t", assignable: true });
    const body = this.block(2, indent);
    this.scope.length = save;
    [this.inFunction, this.inAsync] = [false, false];
    rule("shared promise");
    rule("promise in a constant");
    const [q, r, ag] = [this.fresh("q"), this.fresh("t"), this.fresh("g")];
    const more = `{ const ${q} = ${name}(${this.t(1)}); const ${r} = await ${q}; print(${r}); print(await ${q}); }
{ const ${q} = ${name}(${this.t(1)}); print((await Promise.all([${q}, ${q}]))[1]); print(await ${q}); seeLater({ p: await ${q} }); }
async function* ${ag}(x) { for (let i = 0; i < 2; i++) { await null; const y = x.add(i); yield y; } }
for await (const v of ${ag}(${this.t(1)})) { const w = v.add(1); ${this.pick(["print(w);", "print(v);", "kept.push(v);", "if (w) break;"])} }
`;
    return `${more}async function ${name}(${p}) ${body}\nprint(await ${name}(${this.t(1)}));\nprint((await Promise.all([${name}(${this.t(1)}), ${name}(${this.t(1)})])).length);`;
  }

  program() {
    const out = [];
    for (let i = 0; i < 7; i++) out.push(this.statement(3, ""));
    out.push(this.asyncTask(""));
    for (let i = 0; i < 3; i++) out.push(this.statement(2, ""));
    for (const v of this.scope) if (v.kind === "t") out.push(`print(${v.name});`);
    return `import { full } from "mlrun";
const { print } = globalThis.harness;
const kept = [], later = [];
const id = (x) => x;
const builtinId = new Function("x", "return x");
const remember = new Function("x", "(this.held ??= []).push(x); return x;").bind({});
const keepArray = new Function("a", "(globalThis.harness.arrays ??= []).push(a);");
class Box { constructor(p) { this.p = p; this.q = p; } get() { return this.p; } set(v) { this.p = v; } }
const kept0 = full([2], 3);
let lastMade;
const seen = [];
const seeLater = (o) => { seenBy(o); };
const seenBy = new Function("o", "(globalThis.harness.seen ??= []).push(o.p);");
const seeResult = new Function("f", "const o = f(); (globalThis.harness.seen ??= []).push(o.p, o.q.p);");
const foreignNew = new Function("C", "t", "const o = new C(t); (globalThis.harness.seen ??= []).push(o.p); return o;");
class Odd extends Array { static get [Symbol.species]() { return Array; } }
let budget = 400;
${out.join("\n")}
for (const k of kept) print(typeof k.add === "function" ? k : [k.p, k.q].map((v) => (v ? print(v) : 0)).length);
for (const f of later) { if (budget-- > 0) print(f()); }
for (const v of globalThis.harness.seen ?? []) if (v?.add) print(v.add(1));
if (lastMade?.p?.add) print(lastMade.p.add(1));
for (const a of globalThis.harness.arrays ?? []) for (const v of a) if (v) print(v);
`;
  }
}

const [dir, first, count] = [process.argv[2], Number(process.argv[3]), Number(process.argv[4])];
mkdirSync(dir, { recursive: true });
for (let seed = first; seed < first + count; seed++) writeFileSync(`${dir}/p${seed}.js`, new Generator(seed).program());
console.log(Object.entries(rules).map(([name, n]) => `${name} ${n}`).join(", "));
