import { full } from "mlrun";
const { print } = globalThis.harness;
const T = (n = 1) => full([2], n);
let kept;
function keepRest(...xs) { kept = xs; return xs.length; }
print(keepRest(T(1), T(2)));
print(kept[1]);
function legacy() { kept = arguments[0]; return arguments.length; }
print(legacy(T(7)));
print(kept);
const spread = [T(1), T(2)];
keepRest(...spread);
spread[0] = null;
spread[1] = null;
print(kept[0].add(kept[1]));
