import { full } from "mlrun";
const { print } = globalThis.harness;
const T = (n = 1) => full([2], n);
const fail = () => { throw new Error("x"); };
// What leaves a labelled try, its handler or its finally goes on behind it, where the value is needed.
function block() {
  const x = T(1).add(1);
  L: try { print(x.sum()); break L; } catch { return; }
  print(x);
}
function handler() {
  const x = T(2).add(1);
  L: try { fail(); return; } catch { print(x.sum()); break L; }
  print(x);
}
function final() {
  const x = T(3).add(1);
  L: try { return fail(); } finally { print(x.sum()); break L; }
  print(x);
}
function outer() {
  const x = T(4).add(1);
  L: if (x.shape.length) try { print(x.sum()); break L; } catch { return; } else return;
  print(x);
}
function loop() {
  let x = T(5).add(1);
  for (let i = 0; i < 3; i++) L: try { if (i === 1) { print(x.sum()); break L; } x = T(i).add(1); continue; } catch { return; }
  print(x);
}
function chosen(n) {
  const x = T(6).add(1);
  L: switch (n) { case 1: try { print(x.sum()); break L; } catch { return; } default: return; }
  print(x);
}
for (const f of [block, handler, final, outer, loop, () => chosen(1), () => chosen(2)]) f();
