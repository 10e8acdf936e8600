// `x += E` converts the old value of x after E: E's read of x is not its last use.
import { full } from "mlrun";
const { print } = globalThis.harness;

function nth(list, n) {
  var length = list.length;
  if (!length) {
    return;
  }
  n += n < 0 ? length : 0;
  return n < length ? list[n] : undefined;
}
print(nth([1, 2, 3], -1));

function text(t) {
  t += t.add(1).toArray().join();
  return typeof t;
}
print(text(full([2], 1)));

function joined(list) {
  list += list.length;
  return list;
}
print(joined([1, 2]));
