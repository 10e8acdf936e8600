// Patterns assign variables that closures read and assign, also while the pattern goes on.
import { full } from "mlrun";

const { print } = globalThis.harness;
let n = 0;
const T = () => full([2], ++n);

// The swap of a recurrent net's state, at the top and in a function.
let [h, c] = [T(), T()];
const cell = () => { [h, c] = [c, h.add(c)]; };
for (let i = 0; i < 3; i++) cell();
print(h), print(c);

function f() {
  let a = T(), b = T(), list = [T(), T()];
  const read = () => print(a.add(b));
  const swap = () => { [a, b] = [b, a]; };
  swap(), read();
  // A step of a generator reads what an earlier one gave, and assigns it.
  const steps = function* () { yield T(); read(); a = T(); yield a; read(); };
  [a, b] = steps();
  read();
  // A getter empties the list that the first element came from.
  ({ 0: a, get: b } = Object.defineProperty(list, "get", { get() { list.length = 0; read(); return T(); } }));
  read();
  // What throws leaves the first bound.
  const thrower = { [Symbol.iterator]() { let i = 0; return { next: () => { if (i++ > 0) throw new Error("second"); return { value: T(), done: false }; }, return: () => ({}) }; } };
  try {
    [a, b] = thrower;
  } catch (error) {
    print(error.message);
  }
  read();
  try {
    ({ p: a, q: b } = { p: T(), get q() { read(); throw new Error("q"); } });
  } catch (error) {
    print(error.message);
  }
  read();
  // Defaults that assign.
  [a = T(), b = (a = T(), T())] = [];
  read();
  [a, b = (swap(), read(), T())] = [T()];
  read();
  const other = [T(), T()];
  [a, b = (other.fill(0), read(), T())] = [other[1], undefined];
  read();
  // Each other's elements.
  const pair = [T(), T()];
  [pair[0], a] = [a, pair[0]];
  read(), print(pair[0]), print(pair[1]);
  [a, ...list] = [T(), b, a];
  read(), print(list.length), print(list[0]), print(list[1]);
  return () => { [a, b] = [a.add(1), a]; return b; };
}
const g = f();
print(g()), print(g());

// One binding in each turn of a loop.
const turns = [];
for (let i = 0; i < 3; i++) {
  let [s, t] = [T(), T()];
  turns.push(() => { [s, t] = [t, s.add(t)]; return s; });
}
for (const turn of turns) print(turn()), print(turn());
for (let [u, v] = [T(), T()]; n < 60; [u, v] = [v, u.add(v)]) turns.push(() => u), T();
for (const turn of turns) print(turn());
