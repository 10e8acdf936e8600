// A getter, a conversion or an iterator empties the place that its receiver came from.
import { Clear, Odd, T, out } from "./getters-for-patterns.js";

const { print } = globalThis.harness;
const show = (name, ...tensors) => { for (const t of tensors) print(`${name} ${typeof t?.sum === "function" ? t.sum().item() : typeof t === "object" ? typeof t : t}`); };
const run = (name, f) => { try { f(); } catch (e) { print(`${name} threw ${e.message}`); } };
const from = (make, f) => {
  const o = { p: make(), list: [make(), make(), make()], m: [[make(), make()], [make(), make()]] };
  out.take = () => { o.p = T(); o.list.length = 0; o.m[0] = null; o.m.length = 0; };
  return f(o);
};
const C = () => new Clear();
run("m1", () => from(C, (o) => show("m1", o.p.g)));
run("m2", () => from(C, (o) => show("m2", o.p.twice)));
run("m3", () => from(C, (o) => show("m3", o.p.same)));
run("m4", () => from(C, (o) => show("m4", o.p.me.t)));
run("m5", () => from(C, (o) => show("m5", +o.p, `${o.list}`.length)));
run("m31", () => from(() => new Odd(), (o) => { show("m31", o.p + 1, JSON.stringify(o.list[0])); }));
