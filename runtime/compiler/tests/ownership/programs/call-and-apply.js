// `f.call` and `f.apply` hand on to `f`: what they give is claimed, what the list held is held through the call.
import { full } from "mlrun";
const { print } = globalThis.harness;
let made = 0;
const T = () => full([2], ++made);
function add(a, b) { return a.add(b); }
const id = (a) => a;
const keep = new Function("a", "b", "(this.kept ??= []).push(a, b); return a;");
{ const a = T(), b = T(); print(add.call(null, a, b)); print(id.call(null, a)); print(id.call(a, id.call(b, a))); print(a.add(b)); print(add.apply(null, [a, T()])); print(id.apply(null, [a])); }
{ const list = [T(), T()]; function empty(a, b) { list.length = 0; return a.add(b); } print(empty.apply(null, list)); print(list.length); }
{ const list = [T(), T()], first = (a, b) => { list[0] = null; return a; }; const t = first.apply(null, list); print(t); print(list[1]); }
{ const at = {}, a = T(); print(keep.call(at, a, T())); print(keep.apply(at, [a, T()])); for (const t of at.kept) print(t); }
{ const all = []; print(all.push.call(all, T(), T())); const t = all.pop(); print(t); print(Array.prototype.concat.call(all, T()).length); print(Math.max.apply(null, [1, 3, 2])); print([].concat.apply([], [[T()], [T()]])[1]); }
{ const o = { t: T(), read() { return this.t; }, swap(v) { const old = this.t; this.t = v; return old; } }; print(o.read.call(o, 1)); print(o.swap.call(o, T())); print(o.read.apply(o, [])); print(o.swap.apply({ t: T() }, [T()])); print(o.t); }
class A { constructor(t) { this.t = t; } sum(u) { return this.t.add(u); } }
class B extends A { sum(u) { return super.sum.call(this, u).neg(); } }
{ const b = new B(T()), u = T(); print(b.sum(u)); print(A.prototype.sum.call(b, u)); print(A.prototype.sum.apply({ t: u }, [u])); }
{ const call = Function.prototype.call, seen = []; Function.prototype.call = function (...all) { seen.push(...all); return Reflect.apply(this, all[0], all.slice(1)); }; print(add.call(null, T(), T())); Function.prototype.call = call; print(seen[1]); }
{ const own = Object.assign((a) => a, { call: (o, a) => a, apply: (o, l) => l[0] }); const a = T(); print(own.call(null, a)); print(own.apply(null, [a])); print(a); }
function* gen(a) { yield a; yield a.neg(); }
{ for (const t of gen.call(null, T())) print(t); print([...gen.apply(null, [T()])][1]); const later = async (a) => { await null; return a; }; print(await later.call(null, T())); print(await later.apply(null, [T()])); }
{ const sparse = [T(), , T()]; print(((a, b, c) => c.add(a)).apply(null, sparse)); print(((...l) => l.length).apply(null, { length: 2, 0: T(), 1: T() })); try { add.apply(null, 3); } catch (e) { print(e.message); } try { add.call.call(1, T()); } catch (e) { print(e.name); } }
{ let f = add; const t = T(); print(f.call(null, t, (f = id, T()))); print(f.call(null, t)); print(((a = T(), b = a) => b.add(a)).call(null, t)); print((({ p, q = p }) => p.add(q)).call(null, { p: t })); }
function spread() { return add.apply(this, arguments); }
print(spread(T(), T()));
