// A receiver that comes from one branch of an expression is the one that the call gets.
import { full } from "mlrun";
const { print } = globalThis.harness;

const t = full([2], 1);
function f(known, o) {
  (known || (o.p = [])).push(t);
  print((known ? known : [1]).concat(t).length);
  print((known ?? "text").slice(0, 2, t));
  print((known && known.p ? known.p : t).add(1));
  return o.p.length;
}
print(f(null, {}));
print(f([t], { p: [] }));

// Parentheses keep a receiver.
const o = { t, self() { return this; }, get() { return this.t; } };
function g(o) {
  print((o.self)?.().t.add(1), (o?.self)?.() === o, (o?.self)().t.add(2));
  return (o.get)?.().add(3);
}
print(g(o));
