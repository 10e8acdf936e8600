// What is wrong with a call is said with the op, what it got, and what it expected.
import { data, heapSnapshot, nn, noGrad, optim, randn, setMemoryLimit, stack, tensor, zeros } from "mlrun";

const table = {
  "shapes that do not broadcast": () => zeros([2, 3]).add(zeros([4])),
  "inner dimensions": () => zeros([2, 3]).matmul(zeros([4, 5])),
  "no tensor": () => zeros([2, 3]).add("x"),
  "ragged array": () => tensor([1, [2]]),
  "unknown dtype": () => zeros([2], { dtype: "float8" }),
  "dimension out of range": () => zeros([2]).sum(3),
  "negative size": () => zeros([-1]),
  "more bytes than can be": () => zeros([1e9, 1e9]),
  "disposed": () => {
    const t = zeros([2]);
    t.dispose();
    t.add(1);
  },
  "item of many": () => zeros([2]).item(),
  "reshape": () => zeros([6]).reshape([4]),
  "no gradient wanted": () => zeros([2]).backward(),
  "no number": () => +zeros([2]),
  "a shape of numbers": () => randn(2, 3),
  "another device": () => zeros([2]).to("cuda"),
  "a mask of other dimensions": () => zeros([2, 3]).index(tensor([[true]])),
  "another padding": () => new nn.Conv2d(1, 1, 3, { padding: "full" }),
  "nothing to stack": () => stack([]),
  "in place, another dtype": () => tensor([1n]).div_(2),
  "a text as rate": () => new optim.SGD([zeros([1])], { lr: "0.1" }),
  "a rate below 0": () => new optim.SGD([zeros([1])], { lr: -1 }),
  "no closure": () => new optim.SGD([zeros([1])]).step(3),
  "no function": () => noGrad(),
  "a class as layer": () => new nn.Sequential(new nn.Linear(1, 1), nn.ReLU),
  "no norm": () => nn.utils.clipGradNorm_([zeros([1])]),
  "a text as limit": () => setMemoryLimit("1GB"),
  "a missing file": () => data.readCsv("absent.csv"),
  "a missing folder": () => heapSnapshot("absent/x.heapsnapshot"),
};
for (const [what, call] of Object.entries(table)) {
  try {
    call();
    console.log(`${what}: no error`);
  } catch (e) {
    console.log(`${what}: ${e.name}: ${e.message}${e.code === undefined ? "" : ` ${e.code}`}`);
  }
}
