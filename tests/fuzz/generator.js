// Random programs for the ownership pass. Each prints values through `print`; plain and compiled
// runs must print the same.
//
// Invariant: a seed gives one program, on every engine. Deliberately not here: running them, and parts
// of programs by topic, which stand beside this file.

import { getters } from "./getters.js";
import { loops, members } from "./members.js";
import { natives } from "./natives.js";
import { rule } from "./rules.js";
import { generators, promises } from "./steps.js";
import { awaitedStrangers, strangers } from "./strangers.js";
import { training } from "./training.js";

function rng(seed) {
  let s = seed * 2654435761 % 4294967296 || 1;
  return () => {
    s ^= s << 13; s >>>= 0; s ^= s >>> 17; s ^= s << 5; s >>>= 0;
    return s / 4294967296;
  };
}

/** What programs call, `text` being that of prelude.js: inside of them, or imported. */
const helpersInside = (text) => text.replace(/^(\/\/.*\n)+/, "").replaceAll("export ", "");
const helpersOfFile = (text) => `import { ${[...text.matchAll(/^export (?:const|class) (\w+)/gm)].map((m) => m[1]).join(", ")} } from "./prelude.js";`;
const LIBRARY = "autograd, checkpoint, full, grad, keep, nn, noGrad, optim, tidy, valueAndGrad";

/** What a function of the program starts with. */
const OUTSIDE = { loops: 0, labels: [], inFunction: false, inTry: 0, guarded: undefined, finalizer: undefined, inAsync: false, inGenerator: false };

class Generator {
  constructor(seed, prelude, library) {
    this.random = rng(seed);
    this.prelude = prelude;
    this.library = library;
    // Every other program's tensors are too large for the short way, so that operations write into
    // the memory of operands that end.
    this.size = seed % 2 === 0 ? 2 : 1100;
    this.names = 0;
    this.depth = 0;
    // Variables in scope: { name, kind: "t" tensor | "n" number | "f" function | "a" array | "o" object, assignable }
    this.scope = [];
    Object.assign(this, OUTSIDE, { inAsync: true });
  }

  /** What `write` gives where statements stand elsewhere: in a function, a loop, a try. */
  inside(state, write) {
    const before = Object.fromEntries(Object.keys(OUTSIDE).map((key) => [key, this[key]]));
    const scope = this.scope.length;
    Object.assign(this, state);
    const text = write();
    Object.assign(this, before);
    this.scope.length = scope;
    return text;
  }

  int(n) { return Math.floor(this.random() * n); }
  chance(p) { return this.random() < p; }
  pick(list) { return list[this.int(list.length)]; }
  fresh(prefix) { return `${prefix}${this.names++}`; }
  vars(kind, assignable = false) {
    return this.scope.filter((v) => v.kind === kind && (!assignable || v.assignable));
  }

  /** An expression whose value is a tensor of shape [size]. */
  t(d = 3) {
    const vars = this.vars("t");
    if (d <= 0) return vars.length && this.chance(0.8) ? this.pick(vars).name : `full([${this.size}], ${this.int(5)})`;
    const sub = () => this.t(d - 1);
    const options = [
      () => (vars.length ? this.pick(vars).name : `full([${this.size}], ${this.int(5)})`),
      () => (vars.length ? this.pick(vars).name : sub()),
      () => `full([${this.size}], ${this.n(d - 1)})`,
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
        () => this.classUse(indent), () => this.classUse(indent), () => this.defaults(indent), () => pad(members(this)), () => pad(members(this)),
        () => this.natives(indent), () => this.natives(indent), () => pad(natives(this)), () => pad(natives(this)), () => this.delegated(d, indent), () => pad(generators(this)),
        () => (this.library ? pad(training(this)) : this.views(indent)), () => this.labelled(d, indent), () => this.otherLoop(d, indent),
        () => this.builtins(indent), () => this.builtins(indent), () => this.builtins(indent),
        () => this.finallyUse(indent),
        () => this.pattern(indent), () => this.pattern(indent), () => getters(this, rule, indent), () => getters(this, rule, indent), () => pad(strangers(this)), () => pad(strangers(this)), () => this.views(indent), () => this.views(indent),
        () => this.donate(indent), () => this.arrays(indent), () => this.arrays(indent), () => this.odds(indent), () => this.odds(indent),
      );
    }
    if (this.loops > 0) options.push(() => this.jump(indent, this.pick(["break", "continue"])));
    if (this.labels.length) options.push(() => this.jumpTo(indent), () => this.jumpTo(indent));
    if (this.inFunction && this.chance(0.4)) options.push(() => pad(`if (${this.n(1)} % 4 === 0) return ${this.t(2)};`));
    if (this.inTry > 0) options.push(() => pad(`if (${this.n(1)} % 3 === 0) throw new Error("e${this.int(9)}");`));
    if (this.inAsync) options.push(() => pad("await null;"), () => pad(`print(await id(${this.t(1)}));`), () => pad(promises(this)), () => pad(this.chance(0.3) ? awaitedStrangers(this) : promises(this)));
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
    if (vars.length > 1 && this.chance(0.15)) return rule("swap"), `${indent}[${this.pick(vars).name}, ${this.pick(vars).name}] = [${this.t(2)}, ${this.t(2)}];`;
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
    options.push(() => `kept.push(${this.t(2)});`, () => (rule("closure kept"), `later.push(() => ${this.t(1)});`));
    return indent + this.pick(options)();
  }

  /** Where a `try` with a `finally`, or such a `finally`, begins: what is outside of it. */
  border() {
    return { loops: this.loops, labels: this.labels.length };
  }

  /** A jump that happens every third time, to a label or out of the innermost loop. */
  jump(indent, text, label = -1) {
    const leaves = (border) => border && (label < 0 ? this.loops <= border.loops : label < border.labels);
    if (leaves(this.guarded)) rule("jump through a finally");
    if (leaves(this.finalizer)) rule("jump out of a finally");
    return `${indent}if (${this.n(1)} % 3 === 0) ${text};`;
  }

  jumpTo(indent) {
    const i = this.int(this.labels.length);
    const { name, isLoop } = this.labels[i];
    return this.jump(indent, `${isLoop ? this.pick(["break", "continue"]) : "break"} ${name}`, i);
  }

  /** The text of a loop's body. */
  loopBody(d, indent, label, names) {
    const labels = label ? [...this.labels, { name: label, isLoop: true }] : this.labels;
    return this.inside({ loops: this.loops + 1, labels }, () => {
      this.scope.push(...names);
      return this.block(d, indent);
    });
  }

  loop(d, indent) {
    const [i, outerT] = [this.fresh("i"), this.fresh("t")];
    const label = this.chance(0.2) ? (rule("label"), this.fresh("L")) : null;
    const kind = this.int(4);
    const number = { name: i, kind: "n" };
    let head, names = [number];
    if (kind === 0 && this.chance(0.7)) {
      rule("loop variable");
      head = `for (let ${i} = 0, ${outerT} = ${this.t(1)}; ${i} < ${1 + this.int(3)}; ${i}++, ${outerT} = ${outerT}.add(1))`;
      names.push({ name: outerT, kind: "t", assignable: true });
    } else if (kind === 1) {
      head = `for (let ${i} = 0; ${i} < ${1 + this.int(3)}; ${i}++)`;
    } else if (kind === 2) {
      head = `for (const ${i} in { a: 1, b: 2 })`;
      names = [];
    } else {
      head = `for (const ${i} of [1, 2, 3])`;
    }
    return `${indent}${label ? `${label}: ` : ""}${head} ${this.loopBody(d, indent, label, names)}`;
  }

  /** `while`, `do`, and `for` over what else there is; what stands around the loop is in its block. */
  otherLoop(d, indent) {
    const label = this.chance(0.3) ? (rule("labelled loop"), this.fresh("L")) : null;
    const lines = loops(this, indent, (names) => this.loopBody(d, indent, label, names));
    const at = lines.findIndex((line) => /^(while|do|for) /.test(line));
    if (label) lines[at] = `${label}: ${lines[at]}`;
    return `${indent}{ ${lines.join(`\n${indent}`)} }`;
  }

  forOf(d, indent) {
    rule("loop over elements");
    const name = this.fresh("t");
    const a = this.vars("a");
    const source = a.length && this.chance(0.7) ? `${this.pick(a).name}.slice()` : `[${this.t(2)}, ${this.t(2)}]`;
    return `${indent}for (let ${name} of ${source}) ${this.loopBody(d, indent, null, [{ name, kind: "t", assignable: true }])}`;
  }

  /** A statement that is no loop, left by its label. */
  labelled(d, indent) {
    const name = this.fresh("L");
    const labels = [...this.labels, { name, isLoop: false }];
    const text = this.inside({ labels }, () => this.pick([
      () => (rule("labelled block"), this.block(d, indent)),
      () => (rule("labelled try"), this.tryStatement(d, "", indent)),
      () => (rule("labelled try"), this.tryStatement(d, "", indent, 2)),
      () => (rule("labelled if"), `if (${this.n(1)} % 2) ${this.block(d, indent)} else ${this.block(d, indent)}`),
      () => (rule("labelled switch"), this.switchStatement(d, "", indent, name)),
    ])());
    return `${indent}${name}: ${text}`;
  }

  tryStatement(d, before, indent = before, kind = this.int(3)) {
    rule("try and catch");
    const guarded = kind === 2 ? this.border() : this.guarded;
    const body = this.inside({ inTry: this.inTry + 1, guarded }, () => this.block(d, indent));
    const passes = kind === 2 && this.inTry > 0 && this.chance(0.5);
    const handler = passes ? "" : kind !== 1 ? ` catch (e) { print(e.message); }` : ` catch { ${this.inside({}, () => this.statement(0, "").trim())} }`;
    const finalizer = kind === 2 ? ` finally ${this.inside({ finalizer: this.border() }, () => this.block(d - 1, indent))}` : "";
    return `${before}try ${body}${handler}${finalizer}`;
  }

  switchStatement(d, before, indent = before, label = "") {
    rule("switch");
    const cases = [0, 1, 2].map((i) => {
      const body = this.inside({}, () => this.statement(label && this.chance(0.5) ? d - 1 : 0, "").trim());
      return `${indent}  case ${i}: { ${body} }${this.chance(0.5) ? ` break${label && this.chance(0.5) ? ` ${label}` : ""};` : ""}`;
    });
    return `${before}switch (${this.n(1)} % 4) {\n${cases.join("\n")}\n${indent}  default: print("d");\n${indent}}`;
  }

  func(d, indent) {
    const name = this.fresh("f");
    const params = Array.from({ length: this.int(3) }, () => this.fresh("p"));
    const text = this.inside({ ...OUTSIDE, inFunction: true }, () => {
      for (const p of params) this.scope.push({ name: p, kind: "t", assignable: true });
      const kind = this.int(5);
      if (kind === 0) return `${indent}const ${name} = (${params.join(", ")}) => ${this.t(2)};`;
      const full = this.block(d, indent).replace(/\n(\s*)\}$/, (m, p) => `\n${p}  return ${this.t(2)};\n${p}}`);
      if (kind === 1) return `${indent}function ${name}(${params.join(", ")}) ${full}`;
      if (kind === 2) return `${indent}const ${name} = function (${params.join(", ")}) ${full};`;
      return `${indent}const ${name} = (${params.join(", ")}) => ${full};`;
    });
    this.scope.push({ name, kind: "f", result: "t", params });
    return text;
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

  /** Patterns: in declarations, assignments, parameters and loops. */
  pattern(indent) {
    const t = () => this.t(1);
    const [a, b, f] = [this.fresh("t"), this.fresh("t"), this.fresh("f")];
    const known = (...names) => { for (const name of names) this.scope.push({ name, kind: "t", assignable: true }); };
    const o = this.vars("o");
    return indent + this.pick([
      () => { rule("destructuring"); const text = `let { p: ${a} = ${t()}, q: ${b} = ${t()} } = { p: ${this.pick(["undefined", t()])}, q: ${t()} };`; known(a, b); return text; },
      () => { rule("nested pattern"); const text = `let { p: [${a}, { q: ${b} = ${t()} } = {}] } = { p: [${t()}${this.chance(0.5) ? `, { q: ${t()} }` : ""}] };`; known(a, b); return text; },
      () => { rule("rest of a pattern"); return `{ const [${a}, ...${b}] = [${t()}, ${t()}, ${t()}]; print(${a}); print(${b}.length); print(${b}[1]); const { p, ...rest } = { p: ${t()}, q: ${t()} }; print(rest.q); kept.push(${this.pick(["p", "rest.q", `${b}[0]`])}); }`; },
      () => { rule("pattern into members"); return o.length ? `[${this.pick(o).name}.p, ${this.pick(o).name}.q] = [${t()}, ${t()}];` : `{ const o = {}; ({ p: o.p, q: o[${"`q${1}`"}] = ${t()} } = { p: ${t()} }); print(o.p); print(o.q1); }`; },
      () => { rule("destructured parameter"); return `const ${f} = ({ p: ${a} = ${t()}, q }, [${b}] = [${t()}]) => (q ? q.add(${a}) : ${b}.add(${a})); print(${f}({ p: ${t()} })); print(${f}({ q: ${t()} }, [${t()}]));`; },
      () => { rule("rest parameter"); return `const ${f} = (${a}, ...${b}) => { ${this.pick(["", `${a} = ${b}[0] ?? ${a};`, `kept.push(${b}[0] ?? kept0);`])} return ${b}.reduce((x, y) => x.add(y), ${a}); }; print(${f}(${t()}, ${t()}, ${t()}));`; },
      () => `for (const [${a}, ${b}] of [[${t()}, ${t()}], [${t()}, ${t()}]]) { print(${a}.add(${b})); ${this.pick(["", `kept.push(${a});`, `later.push(() => ${b});`])} }`,
      () => `for (const { p: ${a}, q = ${a} } of [{ p: ${t()} }, { p: ${t()}, q: ${t()} }]) print(q.sub(${a}));`,
    ])();
  }

  /** Views share bytes with what they are of; operations in place change both. */
  views(indent) {
    const t = () => this.t(1);
    const [a, b] = [this.fresh("t"), this.fresh("t")];
    const view = (x) => this.pick([`${x}.reshape([${this.size}])`, `${x}.narrow(0, 0, ${this.size})`, `${x}.unsqueeze(0).select(0, 0)`, `${x}.unsqueeze(0).T.reshape([${this.size}])`, `${x}.flatten()`, `${x}.detach()`]);
    const change = () => this.pick([() => `add_(${this.chance(0.5) ? 1 : t()})`, () => `mul_(2)`, () => `sub_(${t()})`, () => `mul_(${t()})`])();
    return indent + this.pick([
      () => { rule("view"); const text = `let ${a} = ${view(`(${t()})`)};`; this.scope.push({ name: a, kind: "t", assignable: true }); return text; },
      () => (rule("view"), `{ const ${a} = ${t()}.add(1); const ${b} = ${view(a)}; print(${b}.add(${a})); kept.push(${this.pick([a, b])}); }`),
      () => (rule("view"), `print(${view(`${this.postfix(t())}.add(${t()})`)}.mul(${t()}));`),
      () => (rule("in-place operation"), `{ const ${a} = ${t()}.clone(); ${a}.${change()}; print(${a}); print(${a}.${change()}.add(${a})); ${this.pick(["", `kept.push(${a});`, `id(${a}.${change()});`])} }`),
      () => (rule("in-place operation"), `{ const ${a} = ${t()}.clone(); const ${b} = ${a}.${change()}; print(${b}); kept.push(${this.pick([a, b])}); print(${b}.add(${a})); }`),
      () => (rule("in-place on a view"), `{ const ${a} = ${t()}.clone(); ${view(a)}.${change()}; const ${b} = ${view(a)}; ${a}.${change()}; print(${b}); ${this.pick(["", `later.push(() => ${b});`, `kept.push(${b});`])} }`),
    ])();
  }

  /** Values whose last use is an operand: their bytes may be taken over. */
  donate(indent) {
    const t = () => this.t(1);
    const [w, g, old] = [this.fresh("t"), this.fresh("t"), this.fresh("t")];
    const step = () => this.pick([`${w} = ${w}.sub(${g}.mul(2));`, `${w} = ${w}.add(${g}).neg();`, `${w} = ${w}.mul(${w});`, `${w} = ${g}.add(${w});`, `${w} = ${w}.add(print(${w}) || ${g});`]);
    const alias = this.chance(0.5);
    rule(alias ? "donation with an alias" : "donation");
    const [before, after] = alias
      ? this.pick([[`const ${old} = ${w}.reshape([${this.size}]);`, `print(${old});`], [`const ${old} = ${w};`, `print(${old});`], [`const ${old} = [${w}];`, `print(${old}[0]);`], [`later.push(() => ${w});`, ""], [`kept.push(${w});`, ""]])
      : ["", ""];
    return `${indent}{ let ${w} = ${t()}.clone(); const ${g} = ${t()}; ${before} for (let i = 0; i < 2; i++) { ${step()} ${step()} } print(${w}); ${after} print(${g}); }`;
  }

  arrays(indent) {
    const t = () => this.t(1);
    const xs = this.fresh("c");
    rule("array method");
    const steps = [
      () => `print(${xs}.shift() ?? 0);`, () => `${xs}.unshift(${t()}, ${t()});`, () => `print(${xs}.splice(0, 1, ${t()}).length);`, () => `${xs}.fill(${t()});`,
      () => `print(${xs}.with(0, ${t()})[0]);`, () => `print(${xs}.at(-1) ?? 0);`, () => `print(${xs}.slice(0, 1)[0] ?? 0);`, () => `print(${xs}.concat([${t()}]).length);`,
      () => `print(${xs}.flatMap((p) => [p, ${this.within(["p"], t)}]).length);`, () => `print(${xs}.filter((p) => p && ${this.n(1)} % 2).length);`,
      () => `print(${xs}.find((p) => ${this.n(1)} % 2) ?? 0);`, () => (rule("sorted array"), `print(${xs}.sort((p, q) => p.index(0).item() - q.index(0).item())[0]);`),
      () => `${xs}.reverse();`, () => `print(${xs}.map((p, i) => (i ? p : ${this.within(["p"], t)}))[0]);`, () => `print(Array.from(${xs}, (p) => p.add(1)).length);`,
      () => `print(Object.values({ p: ${xs}[0] })[0] ?? 0);`, () => `print(Object.fromEntries([["p", ${t()}]]).p);`, () => `for (const [i, p] of ${xs}.entries()) print(p.add(i));`,
      () => `${xs}.forEach((p) => { ${xs}.length = 0; print(p); });`, () => `print(${xs}.reduceRight((p, q) => p.add(q), ${t()}));`, () => `delete ${xs}[0]; ${xs}[0] = ${t()};`,
      () => `print(${xs}.includes(${xs}[0]) ? 1 : 0);`, () => `kept.push(${xs}[0] ?? kept0);`, () => `${xs}.push(...[${t()}, ${t()}]);`, () => `[...${xs}].map((p) => print(p));`,
      () => `print(${xs}.some((p) => p) && ${xs}.every((p) => p) ? 1 : 0);`, () => `${xs}.copyWithin(0, 1);`, () => `print(${xs}.toReversed()[0] ?? 0);`,
    ];
    const body = Array.from({ length: 2 + this.int(4) }, () => this.pick(steps)());
    return `${indent}try { const ${xs} = [${t()}, ${t()}]; ${body.join(" ")} } catch (e) { print(e.message); }`;
  }

  odds(indent) {
    const t = () => this.t(1);
    const [a, b, f] = [this.fresh("t"), this.fresh("t"), this.fresh("f")];
    return indent + this.pick([
      () => (rule("static field"), `{ class S { static a = ${t()}; static #b = ${t()}; static swap(v) { const old = S.#b; S.#b = v; S.a = old; return old; } } print(S.swap(${t()})); print(S.a); print(S.swap(S.a)); print(S.a); }`),
      () => (rule("private method"), `{ class P { #v = ${t()}; #get() { return this.#v; } get v() { return this.#get(); } set v(x) { [this.#v] = [x]; } take() { const v = this.#v; this.#v = undefined; return v; } } const p = new P(); print(p.v); p.v = ${t()}; print(p.take()); print(p.v ?? 0); p.v ??= ${t()}; }`),
      () => (rule("accessor of a literal"), `{ let v = ${t()}; const o = { get p() { return v; }, set p(x) { v = x; } }; print(o.p); o.p = ${t()}; print(o.p.add(v)); kept.push(o.p); o.p = ${t()}; }`),
      () => (rule("super call"), `{ class A { make(x) { return x.add(1); } keep(x) { this.x = x; return x; } } class B extends A { make(x) { return super.make(x).mul(super.keep(x)); } keep = (x) => super.keep(x).add(this.x); } const o = new B(); print(o.make(${t()})); print(o.keep(${t()})); print(o.x); }`),
      () => (rule("closure in a loop"), `for (let ${a} = ${t()}, i = 0; i < 3; ${a} = ${a}.add(1), i++) later.push(() => ${a});`),
      () => (rule("closure in a loop"), `{ const fs = []; for (const ${a} of [${t()}, ${t()}]) { const ${b} = ${a}.add(1); fs.push(() => ${this.pick([a, b, `${a}.add(${b})`])}); } for (const f of fs) print(f()); }`),
      () => (rule("tagged template"), "{ const tag = (s, ...v) => v[0] ?? v[1]; print(tag`a${" + t() + "}b`); print(tag`${undefined}${" + t() + "}`); }"),
      () => (rule("optional call"), `{ const o = { f: (x) => x.add(1), g: undefined }; print(o.f?.(${t()})); print(o.g?.(${t()}) ?? 0); print(o?.f(${t()})?.neg?.()); print(o.h?.p.q ?? 0); }`),
      () => (rule("logical assignment"), `{ const o = { p: ${t()} }; o.p &&= ${t()}; o.q ??= ${t()}; o.q ||= ${t()}; let ${a} = null; ${a} ??= o.p; ${a} &&= o.q; print(${a}); print(o.p); kept.push(o.${this.pick(["p", "q"])}); }`),
      () => (rule("iterator of the program"), `{ let n = 0; const it = { [Symbol.iterator]() { return { next: () => ({ done: n++ > 1, value: ${t()} }), return() { print("r"); return {}; } }; } }; for (const ${a} of it) { print(${a}); ${this.pick(["", "break;", `kept.push(${a});`])} } n = 0; const [x, y] = it; print(x.add(y)); }`),
      () => (rule("generator ended early"), `{ function* g(x) { try { yield x; const y = x.add(1); yield y; } finally { print(x); yield ${t()}; } } const it = g(${t()}); print(it.next().value); print(it.return(${t()}).value ?? 0); print(it.next().value ?? 0); try { g(${t()}).throw(new Error("g")); } catch (e) { print(e.message); } }`),
      () => (rule("finally around a jump"), `for (let i = 0; i < 3; i++) { try { const ${a} = ${t()}; if (i === 1) continue; if (i === 2) break; print(${a}); } finally { print(${t()}); } }`),
      () => (rule("label"), `L: { const ${a} = ${t()}; try { if (${this.n(1)} % 2) break L; print(${a}); } finally { print(${a}.add(1)); } }`),
      () => (rule("property of a function"), `{ const ${f} = (x) => { ${f}.last = x; return ${f}.last.add(1); }; print(${f}(${t()})); print(${f}(${t()})); print(${f}.last); }`),
      () => (rule("recursion"), `{ const ${f} = (n, x) => (n <= 0 ? x : ${this.pick([`${f}(n - 1, x.add(1))`, `x.add(${f}(n - 1, x))`, `${f}(n - 1, ${f}(0, x)).add(x)`])}); print(${f}(3, ${t()})); }`),
      () => (rule("thrown tensor"), `try { const ${a} = ${t()}; throw ${this.pick([a, `${a}.add(1)`, `{ add: (n) => ${a}.add(n) }`])}; } catch (e) { print(e.add(1)); ${this.pick(["", "kept.push(e);"])} }`),
      () => (rule("frozen object"), `{ const o = Object.freeze({ p: ${t()}, l: [${t()}] }); try { o.p = ${t()}; } catch (e) { print(e.name); } o.l[0] = ${t()}; print(o.p); print(o.l[0]); }`),
      () => (rule("proxy"), `{ const seen = []; const o = new Proxy({ p: ${t()} }, { get(t, k, r) { const v = Reflect.get(t, k, r); seen.push(v); return v; }, set(t, k, v) { seen.push(v); return Reflect.set(t, k, v); } }); print(o.p); o.p = ${t()}; print(o.p); for (const v of seen) print(v); }`),
      () => (rule("native callback"), `if (${this.n(1)} % 2) print((0, Function)("f", "x", "return f(x)")((x) => x.add(1), ${t()}));`),
    ])();
  }

  builtins(indent) {
    const t = () => this.t(1);
    const [xs, x] = [this.fresh("xs"), this.fresh("x")];
    const inner = (name) => this.inner(name, () => this.t(1));
    const a = this.vars("a");
    const list = () => (a.length && this.chance(0.6) ? this.pick(a).name : `[${t()}, ${t()}]`);
    const hurt = () => (a.length && this.chance(0.3) ? `${this.pick(a).name}.${this.pick(["pop()", "length = 0", `splice(0, 1, ${t()})`, "shift()"])};` : "");
    return indent + this.pick([
      () => (rule("array made by a callback"), `{ const ${xs} = Array.from({ length: 2 }, (_, i) => ${t()}); print(${xs}[0]); print(${xs}.pop()); kept.push(${xs}[0]); }`),
      () => (rule("array from a list"), `{ const ${xs} = Array.from(${list()}, (p) => { ${hurt()} return ${inner("p")}; }); if (${xs}[0]) print(${xs}[0]); const c = Array.from(${xs}); ${xs}.length = 0; for (const ${x} of c) print(${x}); }`),
      () => (rule("map of numbers"), `{ const [${x}] = [1, 2].map((i) => ${t()}).map((p) => { ${hurt()} return ${inner("p")}; }); print(${x}); }`),
      () => (rule("flat map"), `{ const ${xs} = [1, 2].flatMap((i) => [${t()}, ${t()}]); print(${xs}[1]); print(${list()}.flatMap((p) => ${this.pick(["p", "[p, p]", `[${inner("p")}]`, "kept"])}).length); }`),
      () => (rule("fold with a start"), `print([1, 2].reduce((p, i) => { ${hurt()} return ${inner("p")}; }, ${t()})); print(${list()}.reduceRight((p, q) => { ${hurt()} return p.add(q); }, ${t()}));`),
      () => (rule("callback with this"), `print(${list()}.map(function (p) { return this.add ? this.add(p) : p; }, ${t()}).length);`),
      () => (rule("sort"), `{ const ${xs} = [{ p: ${t()}, k: 2 }, { p: ${t()}, k: 1 }]; ${this.chance(0.4) ? `${xs}.sort((q, r) => { ${this.pick([`${xs}.pop();`, `${xs}.length = 1;`, `print(q.p);`, `${xs}[0] = { p: ${t()}, k: 0 };`])} return q.k - r.k; });` : `${xs}.sort((q, r) => q.k - r.k);`} for (const ${x} of ${xs}) print(${x}.p); }`),
      () => (rule("splice"), `{ const ${xs} = [${t()}, ${t()}, ${t()}]; const gone = ${xs}.splice(${this.int(2)}, ${this.int(3)}${this.chance(0.5) ? `, ${t()}` : ""}); for (const ${x} of gone) print(${x}); for (const ${x} of ${xs}) print(${x}); ${xs}.splice(1); }`),
      () => (rule("values and entries"), `{ const o = { p: ${t()}, q: ${t()} }; const [${x}] = Object.values(o); for (const [k, v] of Object.entries(o)) { o[k] = ${t()}; print(v); } print(${x}); const z = Object.fromEntries(Object.entries(o)); delete o.p; print(z.p); }`),
      () => (rule("spread into a literal"), `{ const o = { p: ${t()}, q: ${t()} }, l = ${list()}; const hurt = () => { ${this.pick(["o.p = null;", `o.p = ${t()};`, "delete o.q;", "l.length = 0;", ""])} return ${t()}; }; const n = { ...o, ${this.pick(["r: hurt()", `p: ${inner("o.p")}`, `q: ${t()}`, "r: 1"])} }; const m = [...l, ${this.pick(["hurt()", t(), "...l", "n.p"])}]; o.p = null; for (const ${x} of [n.p, n.q, n.r, ...m]) print(${x} ?? 0); ${this.pick(["", "kept.push(n.p ?? kept0);", "seeLater(n);", "{ const { p, ...rest } = n; n.q = null; print(rest.q ?? 0); }"])} }`),
      () => (rule("list changed as a whole"), `{ const ${xs} = [${t()}, ${t()}, ${t()}]; const ${x} = ${xs}[1]; ${this.pick([`print(${xs}.reverse()[0]);`, `${xs}.fill(${inner(x)});`, `print(${xs}.fill(${xs}[0])[2]);`, `${xs}.fill(${t()}, 1);`, `${xs}.fill(...[${t()}, 1, 2]);`, `${xs}.reverse().fill(${t()});`])} print(${x}); for (const p of ${xs}) print(p); ${this.pick(["", `kept.push(${xs}[2]);`, `${xs}.length = 1; print(${xs}[0]);`])} }`),
      () => (rule("copy of a list"), `{ const ${xs} = [${t()}, [${t()}], ${t()}]; const copy = ${xs}.${this.pick(["toReversed()", `with(0, ${t()})`, "flat()", "flat(1)", "toSorted(() => 1)", "slice()", `toSorted(() => { ${xs}.pop(); return -1; })`])}; ${xs}.length = ${this.int(3)}; for (const p of copy) print(p[0] ?? p); print(${list()}.findLast((p) => { ${hurt()} return p; }) ?? 0); for (const p of ${xs}.${this.pick(["slice()", "toReversed()", "reverse()", "concat([1])"])}) { ${xs}.length = 0; print(p[0] ?? p); } }`),
      () => (rule("conversion of an operand"), `{ const ${xs} = [${t()}, ${t()}]; const at = (v) => ({ valueOf() { ${this.pick([`[1, 2].map((i) => ${t()});`, `${xs}.push(${t()});`, `${xs}.pop();`, `print([3].slice().length);`])} return v; } }); const got = ${this.pick([`${xs}.slice(at(0))`, `${xs}.with(at(0), ${t()})`, `${xs}.splice(at(0), at(1))`, `[${xs}.at(at(0))]`, `${xs}.concat([]).slice(at(1))`])}; ${xs}.length = 0; for (const p of got) print(p ?? 0); }`),
      () => (rule("assigned properties"), `{ const o = { p: ${t()} }, from = { p: ${t()}, q: ${t()} }; const ${x} = o.p; const clear = { get z() { o.p = null; return 1; } }; const same = Object.assign(${this.pick(["o, from", `{}, o, from`, `o, from, { q: ${t()} }`, "o, from, clear", "o, clear, from", "o, ...[from]", "new (class { set q(v) { kept.push(v); } })(), from"])}); from.p = null; from.q = null; print(${x}); print(same.p ?? 0); print(same.q ?? 0); }`),
      () => (rule("deleted property"), `{ const o = { p: ${t()}, 1: ${t()} }, k = ${this.pick([`"p"`, "1", `{ toString() { o.p = null; return "p"; } }`])}; const ${x} = o.p; print(delete o[k]); print(${x}); print(o.p ?? o[1] ?? 0); delete o.p; o.p = ${t()}; print(o.p); ${this.pick(["", "kept.push(o.p);"])} }`),
      () => (rule("optional chain"), `{ let o = { t: ${t()}, u: { m(x) { ${this.pick(["o = null;", "o.t = null;", "", `o.t = ${t()};`])} return this.v.add(x); }, v: ${t()}, l: [${t()}] }, f: (x) => ${inner("x")} }; const ${x} = o?.t?.add(o?.u?.m(${t()})); print(${x}?.neg() ?? 0); print(o?.f?.(o?.t ?? ${t()})?.add?.(1) ?? 0); print(o?.u?.l?.[0] ?? 0); o?.none?.(${t()}); let ${xs} = ${t()}; ${xs} = o?.${this.pick(["t", "u?.v", "none?.x", "u.l.pop?.()"])}; print(${xs} ?? 0); print(o?.t?.mul(o.t)?.sum?.() ?? 0); ${this.pick(["", `kept.push(${xs} ?? kept0);`])} }`),
      () => (rule("spread generator"), `{ let ${x} = ${t()}; function* g(p) { yield p; ${this.pick([`${x} = null;`, `${x} = ${t()};`, ""])} yield p.add(1); ${this.pick(["", "yield p;", `yield ${x} ?? p;`])} } const ${xs} = ${this.pick([`[...g(${x})]`, `Array.from(g(${x}))`, `[${t()}, ...g(${x}), ...g(${t()})]`, `((...v) => v)(...g(${x}), ${t()})`])}; for (const p of ${xs}) print(p); ${this.pick(["", `kept.push(${xs}[1]);`])} }`),
      () => { rule("counted map"); const step = () => this.pick([`m.set("a", ${t()});`, `m.set(${x}, ${t()});`, `print(m.get("b") ?? 0);`, `m.delete(${this.pick([`"a"`, `"b"`, x])});`, `m.clear();`, `for (const [k, v] of m) { ${hurt()} m.delete(k); print(v); }`, `for (const v of m.values()) { if (m.size > 1) m.clear(); print(v); }`, `m.forEach((v, k) => { m.delete(k); print(v); });`, `for (const v of [...m.values(), ${t()}]) print(v);`, `kept.push(m.get("a") ?? kept0);`, `later.push(() => m.get("b") ?? kept0);`, `keepArray([...m.values()]);`, `m.set("c", m.get("a") ?? ${t()}).set("d", ${inner(x)});`, `print(id(m).size);`, `seeLater({ p: m.get("c") });`, `for (const e of m) { m.clear(); print(e[1]); }`]); return `{ const ${x} = ${t()}; const m = new Map(${this.pick(["", `[["a", ${t()}], ["b", ${x}]]`, `[[${x}, ${x}]]`])}); m.set("a", ${t()}); const y = m.get("a"); ${step()} ${step()} ${step()} ${step()} print(y); print(${x}); for (const v of m.values()) print(v); }`; },
      () => { rule("counted set"); const step = () => this.pick([`s.add(${t()});`, `s.add(${x});`, `s.delete(${x});`, `s.clear();`, `for (const v of s) { s.delete(v); print(v); }`, `print([...s].length);`, `s.forEach((v) => { s.clear(); print(v); });`, `kept.push(...s);`, `{ const [v] = s; s.clear(); print(v ?? 0); }`, `print(s.has(${x}));`]); return `{ const ${x} = ${t()}; class Pool { all = new Set(); } const { all: s } = new Pool(); s.add(${t()}).add(${x}); ${step()} ${step()} ${step()} print(${x}); for (const v of s) print(v); }`; },
      () => (rule("getter"), `{ const o = { inner: ${t()}, get fresh() { return this.inner.add(1); }, get same() { return this.inner; }, get both() { return [this.inner, ${t()}]; } }; const ${x} = o.${this.pick(["fresh", "same"])}; print(o.fresh); print(o.both[1]); o.inner = ${t()}; print(${x}); delete o.fresh; }`),
      () => (rule("iterator by hand"), `{ const it = { ${x}: ${t()}, i: 0, [Symbol.iterator]() { return { next: () => (this.i++ < 3 ? { value: ${this.pick([`this.${x}`, `this.${x}.add(this.i)`, t()])}, done: false } : { done: true, value: undefined }) }; } }; for (const ${xs} of it) { print(${xs}); ${this.pick(["", "if (it.i > 1) break;", `it.${x} = ${t()};`, `kept.push(${xs});`])} } }`),
      () => (rule("list in a field"), `{ class Buffer { items = []; rows = [[], []]; constructor() { this.more = []; } push(p) { this.items.push(p); this.rows[0].push(p); this.more.push({ p }); if (this.items.length > 1) this.items.shift(); } } const ${xs} = new Buffer(); ${xs}.push(${t()}); ${xs}.push(${t()}); print(${xs}.items[0]); print(${xs}.rows[0][0]); ${xs}.rows[0].length = 1; print(${xs}.more.pop().p); }`),
      () => (rule("filled by a callee"), `{ const fill = (out, p) => { out.p = p; out.q = ${inner("p")}; }; const ${xs} = {}; fill(${xs}, ${t()}); print(${xs}.p); const z = ${xs}.q; fill(${xs}, ${t()}); print(z); }`),
      () => (rule("converted"), `{ const n = +${t()}.sum() + ${t()}.sum(); print(typeof n); print(\`\${${t()}.sum()} \${${t()}}\`.length > 0); }`),
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
    rule("generator");
    const name = this.fresh("g");
    const p = this.fresh("p");
    const body = this.inside({ ...OUTSIDE, inGenerator: true }, () => {
      this.scope.push({ name: p, kind: "t", assignable: true });
      return this.block(d, indent);
    });
    const v = this.fresh("t");
    return `${indent}function* ${name}(${p}) ${body}\n${indent}for (const ${v} of ${name}(${this.t(1)})) { print(${v}); ${this.chance(0.3) ? "break; " : ""}}`;
  }

  asyncTask(indent) {
    const name = this.fresh("async");
    const p = this.fresh("p");
    const body = this.inside({ ...OUTSIDE, inFunction: true, inAsync: true }, () => {
      this.scope.push({ name: p, kind: "t", assignable: true });
      return this.block(2, indent).replace(/\n\}$/, `\n  return ${this.t(2)};\n}`);
    });
    rule("shared promise");
    rule("promise in a constant");
    rule("async generator");
    const [q, r, ag] = [this.fresh("q"), this.fresh("t"), this.fresh("g")];
    const more = `{ const ${q} = ${name}(${this.t(1)}); const ${r} = await ${q}; print(${r}); print(await ${q}); }
{ const ${q} = ${name}(${this.t(1)}); print((await Promise.all([${q}, ${q}]))[1]); print(await ${q}); seeLater({ p: await ${q} }); }
async function* ${ag}(x) { for (let i = 0; i < 2; i++) { await null; const y = x.add(i); yield y; } }
for await (const v of ${ag}(${this.t(1)})) { const w = v.add(1); ${this.pick(["print(w);", "print(v);", "kept.push(v);", "if (w) break;"])} }
`;
    const odd = this.pick([
      () => (rule("thenable"), `print(await { then(f) { f(${this.t(1)}); } });\n`),
      () => (rule("rejected promise"), `{ const fails = async (x) => { await null; throw x; }; try { await fails(${this.t(1)}); } catch (e) { print(e.add(1)); } print(await fails(${this.t(1)}).catch((e) => e.neg())); }\n`),
      () => `print(await (async (x) => { try { return await ${name}(x); } finally { print(x); } })(${this.t(1)}));\n`,
      () => `print((await Promise.race([${name}(${this.t(1)}), new Promise(() => {})])).add(1));\n`,
    ])();
    return `${odd}${more}async function ${name}(${p}) ${body}\nprint(await ${name}(${this.t(1)}));\nprint((await Promise.all([${name}(${this.t(1)}), ${name}(${this.t(1)})])).length);`;
  }

  program() {
    const out = [];
    for (let i = 0; i < 7; i++) out.push(this.statement(3, ""));
    out.push(this.asyncTask(""));
    for (let i = 0; i < 3; i++) out.push(this.statement(2, ""));
    for (const v of this.scope) if (v.kind === "t") out.push(`print(${v.name});`);
    const evals = this.chance(0.02) ? (rule("direct eval"), `print(eval("id(kept0)"));\n`) : "";
    const inside = this.chance(0.3);
    rule(inside ? "helpers inside" : "helpers of a file");
    // What code that is left alone prints is shared from then on.
    const shares = this.chance(0.2);
    rule(shares ? "printed by others" : "printed as a copy");
    const print = shares ? "const { print } = globalThis.harness;" : 'const print = (v) => globalThis.harness.print(typeof v?.clone === "function" ? v.clone() : v);';
    return `import { ${this.library ? LIBRARY : "full"} } from "mlrun";
${inside ? helpersInside(this.prelude) : helpersOfFile(this.prelude)}
${print}
const kept = [], later = [];
const kept0 = full([${this.size}], 3);
let lastMade;
let budget = 400;
${evals}${out.join("\n")}
for (const k of kept) print(typeof k.add === "function" ? k : [k.p, k.q].map((v) => (v ? print(v) : 0)).length);
for (const f of later) { if (budget-- > 0) print(f()); }
for (const v of globalThis.harness.seen ?? []) if (v?.add) print(v.add(1));
if (lastMade?.p?.add) print(lastMade.p.add(1));
for (const a of globalThis.harness.arrays ?? []) for (const v of a) if (v) print(v);
`;
  }
}

/** The program of a seed; `prelude`: the text of prelude.js. `library`: with all of mlrun and the language, else with
 * what the stand-in of the compiler's own tests has. */
export const program = (seed, prelude, library = true) => new Generator(seed, prelude, library).program();
