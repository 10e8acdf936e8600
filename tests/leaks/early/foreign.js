// Getters and conversions that keep their receiver, of functions that are not compiled.
import { full } from "mlrun";

const print = (v) => console.log(v);
const show = (name, ...tensors) => { for (const t of tensors) print(`${name} ${typeof t?.sum === "function" ? t.sum().item() : typeof t === "object" ? typeof t : t}`); };
const run = (name, f) => { try { f(); } catch (e) { print(`${name} threw ${e.message}`); } };
let n = 0;
const T = () => full([2], ++n);
const seen = [];
class A { constructor(t) { this.t = t; } get me() { seen[0] = this; return 1; } f(x) { return x.mul(this.t); } }
run("left alone", () => { const a = new A(T()); show("left alone", a.me); });
run("left alone", () => show("kept", seen[0].t));
globalThis.kept = [];
const get = new Function("globalThis.kept.push(this); return 1;");
class B { constructor(t) { this.t = t; } f(x) { return x.mul(this.t); } }
Object.defineProperty(B.prototype, "me", { get });
run("foreign", () => { const b = new B(T()); show("foreign", b.me); });
run("foreign", () => show("kept", globalThis.kept[0].t));
class V { constructor(t) { this.t = t; } valueOf() { seen[1] = this; return 3; } f(x) { return x.mul(this.t); } }
run("converted", () => { const v = new V(T()); show("converted", +v); });
run("converted", () => show("kept", seen[1].t));
// A default behind a pattern takes no count that is in flight to somebody else.
const make = () => ({ t: T() });
const replace = () => 1;
const f = ({ o }, y = replace()) => o.t.neg();
run("in flight", () => print(new Function("make", "f", "const o = make(); f({ o }); return o.t.sum().item()")(make, f)));
