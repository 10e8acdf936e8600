// Classes for programs whose patterns read getters of another file: each takes something out.
import { full } from "mlrun";

let n = 0;
export const T = () => full([2], ++n);
export const out = { take: () => {} };
export class Lazy {
  t = T();
  o = { t: T() };
  get g() { this.t = T(); return 1; }
  get h() { this.o.t = T(); this.o = { t: T() }; return 2; }
}
export class Clear {
  constructor() { this.t = T(); this.u = T(); this.o = { t: T(), l: [T(), T()] }; }
  get g() { out.take(); return this.t.neg().sum().item(); }
  get twice() { out.take(); return this.t.add(this.u).sum().item(); }
  get same() { const x = this.u; out.take(); return x; }
  get me() { out.take(); return this; }
  [Symbol.toPrimitive](hint) { out.take(); return hint === "number" ? this.t.sum().item() : "p" + this.u.sum().item(); }
  *[Symbol.iterator]() { out.take(); yield this.t; out.take(); yield this.u; }
}
export class Odd {
  constructor() { this.t = T(); this.u = T(); }
  valueOf() { out.take(); return this.t.sum().item() + this.u.sum().item(); }
  toJSON() { out.take(); return this.t.sum().item(); }
}
