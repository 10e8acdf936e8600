// `var x;` does nothing where it stands: what `x` got before stays.
import { full } from "mlrun";
const { print } = globalThis.harness;

function late(n) {
  t = full([2], n);
  print(t);
  var t;
  return t.add(1);
}
print(late(3));

function again(n) {
  for (var i = 0; i < n; i++) {
    var kept;
    if (i === 0) kept = full([2], 7);
    print(kept);
  }
  return kept;
}
print(again(3));
const fields = (o, x) => {
  if (x) o.p = { q: x }
  if (!x) return { o }
  for (const k of [1]) o.r = { x, k }
  print(o.p.q)
  return o.r.x
}
print(fields({}, full([2], 4)));
