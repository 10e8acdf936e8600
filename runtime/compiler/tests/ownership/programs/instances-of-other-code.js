import { full } from "mlrun";
const { print } = globalThis.harness;
const T = (n = 1) => full([2], n);
class Box { constructor(t) { this.t = t; } set(t) { this.t = t; } }
const make = new Function("C", "t", "const o = new C(t); globalThis.harness.seen = o; return o;");
const o = make(Box, T(2));
const seen = new Function("return globalThis.harness.first = globalThis.harness.seen.t");
seen();
o.set(T(3));
print(globalThis.harness.first);
print(globalThis.harness.seen.t);
class Base { constructor() { this.t = T(1); Base.last = this; } }
class Sub extends Base { u = this.t; constructor(other) { super(); this.v = other?.t ?? this.u; } }
const s = new Sub(new Sub());
print(s.v.add(s.u));
print(Base.last.t);
const r = Reflect.construct(Base, [], Sub);
print(r.t);
class Odd { constructor() { return Odd.cached ??= { t: T(8) }; } }
const a = new Odd(), b = new Odd();
a.t = T(9);
print(b.t);
class SubOdd extends Odd { u = T(7); }
print(new SubOdd().u.add(new SubOdd().t));
const once = () => { const c = new Box(T(5)); return c.t; };
print(once().add(1));
function Old(t) { this.t = t; }
const old = new Old(T(4));
print(old.t);
try { new (class extends Base { constructor() { throw new Error(`no ${T(1).sum()}`); } })(); } catch (e) { print(e.message); }
try { const x = 5; new x(T(1)); } catch (e) { print(`${e.name} ${e.message}`); }
try { const n = { x: () => 1 }; new n.x(T(1)); } catch (e) { print(`${e.name} ${e.message}`); }
try { const n = { x: () => 1 }; new n.x(); } catch (e) { print(`${e.name} ${e.message}`); }
class Numbers extends Array {}
const filledByParent = () => { const t = T(6); const n = new Numbers(t, T(7)); return n; };
print(filledByParent()[0]);
print(filledByParent()[1]);
class Fails extends Error { t = T(3); }
print(new Fails("message").t);
