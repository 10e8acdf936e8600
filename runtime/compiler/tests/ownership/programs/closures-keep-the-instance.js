import { full } from "mlrun";
const { print } = globalThis.harness;
const T = (n = 1) => full([2], n);
const mk = () => { class C { t = T(3); read = () => this.t; } const o = new C(); return o.read; };
print(mk()());
const mk2 = () => { class C { constructor() { this.t = T(4); this.read = () => this.t; } } const o = new C(); return o.read; };
print(mk2()());
class A { t = T(5); }
const mk3 = () => { class D extends A { read = () => this.t; } const o = new D(); return o.read; };
print(mk3()());
const mk4 = () => { class D extends A { constructor() { super(); this.read = () => this.t; } } const o = new D(); return o.read; };
print(mk4()());
const mk5 = () => { class D extends A { get() { return () => this.t; } } const o = new D(); return o.get(); };
print(mk5()());
