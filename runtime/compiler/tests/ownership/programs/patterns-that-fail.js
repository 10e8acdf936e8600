// V8 throws in the middle of a pattern, behind something that it has bound.
import { full } from "mlrun";

const { print } = globalThis.harness;
let n = 0;
const T = () => full([2], ++n);
const k = 1;
let top = T(), other;

function attempt(f) {
  try {
    f();
  } catch (error) {
    print(error.name);
  }
}
// Nothing stands where a pattern inside wants something.
attempt(() => { ({ top, b: { other } } = { top: T() }); });
print(top);
attempt(() => { ({ top, b: { other } } = { top: T(), b: null }); });
print(top);
attempt(() => { [top, { other } = null] = [T()]; });
print(top);
attempt(() => { [top, [other] = 5] = [T()]; });
print(top);
attempt(() => { [top, [other] = {}] = [T()]; });
print(top);
attempt(() => { ({ top, b: { c: { other } } = {} } = { top: T() }); });
print(top);
attempt(() => { ({ top, w: { grad: { other } } } = { top: T(), w: T() }); });
print(top);
attempt(() => { [top, { other } = {}] = [T()]; });
print(top), print(other);

function local(i) {
  let a = T(), b;
  try {
    if (i === 0) ({ a, b: { b } } = { a: T() });
    if (i === 1) [a, k] = [T(), 2];
    if (i === 2) [a, later] = [T(), T()];
    if (i === 3) [a, nowhere] = [T(), 2];
    if (i === 4) [a, full] = [T(), 2];
    if (i === 5) [a, ...k] = [T(), 2];
    if (i === 6) ({ a, ...k } = { a: T() });
    if (i === 7) [[a], [k]] = [[T()], [2]];
    if (i === 8) (function g() { [a, g] = [T(), 2]; })();
    if (i === 9) new (class C { constructor() { [a, C] = [T(), 2]; } })();
    if (i === 10) switch (i) {
      case 11: let hidden = 1;
      case 10: [a, hidden] = [T(), T()];
    }
    if (i === 11) for (var { c, d: { e } } of [{ c: T(), d: { e: 1 } }, { c: T() }]) b = c;
    if (i === 12) [b, k] = [T(), 2];
  } catch (error) {
    print(error.name);
    if (i === 11) print(c);
  }
  let later = 0;
  print(a), print(b ?? later);
}
for (let i = 0; i < 13; i++) local(i);

// A declared function runs before what it assigns is there.
attempt(() => early());
print(one);
var one;
let two = T();
function early() { [one, two] = [T(), T()]; }
early();
print(one), print(two);
