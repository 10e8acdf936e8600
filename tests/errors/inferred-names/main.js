// Functions without a name are called the same in stacks with the ownership pass on and off.
import { randn } from "mlrun";

const list = [() => { const t = randn([3]); t.dispose(); return t.add(1); }, () => randn([2]).matmul(randn([3]))];
const deep = { a: { b: () => randn([2]).add(randn([3])) }, c: [() => randn([2]).add(randn([3]))] };
const made = [1].map(() => () => randn([2]).add(randn([3])));
const through = (f) => f();
const cases = {
  list: () => list[0](), second: () => list[1](), method: () => deep.a.b(), inside: () => deep.c[0](),
  made: () => made[0](), through: () => through(list[0]), inner: () => through(() => randn([2]).add(randn([3]))),
  chain: () => [[randn([2])].map((t) => [t, () => t.add(randn([3]))])][0][0][1](),
};
for (const [name, run] of Object.entries(cases)) {
  try {
    run();
  } catch (e) {
    console.log(`${name}: ${e.stack.replaceAll(/file:\S*?\/main\.js/g, "main.js")}`);
  }
}
list[0]();
