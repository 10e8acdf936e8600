// Assignments by a pattern as the body of a loop or of a condition.
import { full } from "mlrun";

const { print } = globalThis.harness;
let n = 0;
const T = () => full([2], ++n);

function f(k, x) {
  let a = T(), b = T(), c;
  for (let i = 0; i < k; i++) [a, b] = [b, a.add(b)];
  if (k > 1) [a] = [b]; else ({ a, c } = { a: b, c: x });
  L: [a, b] = [b, a];
  do [a, b] = [b, a.neg()]
  while (k-- > 0)
  while (k++ < 2) if (k) [a, c] = [c ?? a, b]; else [b] = [a];
  for (const key in { p: 1, q: 2 }) [a, b] = [b.add(key.length), a];
  for (const t of [T(), T()]) [c, a] = [a, t];
  return a.add(b).add(c);
}
print(f(3, T()));
print(f(1, T()));
print(f(0, T()));
