// Errors and limits at their edges, in loops hot enough to take V8's fast calls.
import { concat, eye, full, memoryStats, ones, randn, setMemoryLimit, stack, tensor, TensorMemoryError, zeros } from "mlrun";

const attempt = (what, f) => {
  try {
    console.log(what, f());
  } catch (e) {
    console.log(`${what}: ${e.constructor.name}: ${e.message}`);
  }
};

// The class of an error is the same before and after the call is optimised.
const big = ones([1 << 16]), held = [];
setMemoryLimit(memoryStats().liveBytes + 1000);
let classes = new Set();
for (let i = 0; i < 1500; i++) {
  try {
    held.push(big.add(1));
  } catch (e) {
    classes.add(`${e.name} ${e instanceof TensorMemoryError} ${e instanceof RangeError}`);
  }
}
setMemoryLimit(Infinity);
console.log("memory errors", held.length, [...classes]);
const gone = zeros([2]);
gone.dispose();
classes = new Set();
for (let i = 0; i < 20_000; i++) {
  try {
    gone.add(1);
  } catch (e) {
    classes.add(`${e.constructor.name} ${e.message.includes("main.js:26:6")}`);
  }
}
console.log("disposed", [...classes]);

// At the limit garbage is collected before anything is refused.
const x = randn([1000, 1000]);
setMemoryLimit(memoryStats().liveBytes + 20e6);
for (let i = 0; i < 200; i++) x.add(i).mul(2);
setMemoryLimit(Infinity);
console.log("garbage is no reason to refuse");

attempt("BigInt beyond int64", () => tensor([1]).add(2n ** 70n).item());
attempt("mean of halves", () => full([3, 1000], 100, { dtype: "float16" }).mean(1).toArray());
attempt("variance of halves", () => full([40_000], 2, { dtype: "float16" }).variance().item());
attempt("identity that is too large", () => eye(1e9));
attempt("negative identity", () => eye(-1));
const cycle = [];
cycle.push(cycle);
attempt("array that holds itself", () => tensor(cycle));
attempt("many tensors", () => stack(Array.from({ length: 5000 }, () => ones([2]))).sum().item());
attempt("many tensors of one size", () => concat(Array.from({ length: 5000 }, (_, i) => full([1], i))).index(4999).item());
