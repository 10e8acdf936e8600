import { full } from "mlrun";
const { print } = globalThis.harness;
const T = (n = 1) => full([2], n);
// Each of these is right, and the verifier must say so: it is compiled here, or the test fails.
function targetComesFirst(v) {
  const d = { p: { a: v.add(1) }, k: v };
  d.p.b = d.p.a;
  const e = { p: { a: v.add(2) } };
  e.p[e.p.a.shape[0]] = e.p.a;
  return [d, e];
}
function parameterComesFirst(g, make) {
  return (g = g ? g : [], make(g.d = g.d || {}));
}
function functionAfterTensor(s, then) {
  s = s.add(1);
  print(s);
  (s = function () { return T(7); }), then(s, s);
}
function functionInBranch(x, plain) {
  if (plain) { const y = x.add(1); print(y); x = () => T(1); }
  return plain ? x() : x;
}
function functionInLoop(n) {
  for (let i = 0; i < n; i++) {
    let h = () => "f";
    if (i % 2) { h = T(i).add(1); print(h); } else print(h());
  }
}
function numberAfterTensor(v) {
  let x = v.add(1);
  print(x);
  x = 1;
  x += 2;
  return x;
}
function turnsAtLeastOnce(list) {
  let error;
  do { if ((error = list.shift().add(1))) break; } while (list.length);
  if (error) print(error);
}
function leftByBreak(v) {
  let x;
  for (;;) { x = v.add(1); if (x.shape.length) break; }
  print(x);
}
function throughFinally(v) {
  let x;
  for (;;) { try { x = v.add(1); break; } finally { print("f"); } }
  print(x);
}
function finallyLeavesAtOnce(v) {
  const x = v.add(1);
  L: try { try { print(x); } finally { break L; } } catch { print(x); }
}
function calleeIsReadOnceMore(make) {
  const f = make(T(10)), g = f(f.p);
  print(g);
}
for (const c of targetComesFirst(T(1))) print(c.p.a);
print(parameterComesFirst(null, (d) => Object.keys(d).length));
functionAfterTensor(T(2), (f, g) => print(f().add(g())));
print(functionInBranch(T(3), true));
print(functionInBranch(T(3), false));
functionInLoop(4);
print(numberAfterTensor(T(4)));
turnsAtLeastOnce([T(5), T(6)]);
leftByBreak(T(7));
throughFinally(T(8));
finallyLeavesAtOnce(T(9));
calleeIsReadOnceMore((t) => Object.assign((k) => t.add(k), { p: 1 }));
