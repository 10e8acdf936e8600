// A private accessor is never read for a store; names of variables may be those of the language.
import { full } from "mlrun";
const { print } = globalThis.harness;

class A {
  #v = full([2], 1);
  #reads = 0;
  get #w() { this.#reads++; return this.#v; }
  set #w(t) { this.#v = t; }
  set #only(t) { this.#v = t.add(1); }
  put(t) { this.#w = t; this.#only = t; return this.#v; }
  get reads() { return this.#reads; }
}
const a = new A();
print(a.put(full([2], 5)));
print(a.reads);
const named = new Function("f", "return f(7)");
print(named(function (x = arguments[0]) { return x; }));
