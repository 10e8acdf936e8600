// The memory limit in the way of loads, saves and training steps, at every size: each ends with an
// error that leaves nothing behind, or as if there were no limit.
import { Checkpoints, gc, io, memoryStats, nn, ones, optim, setMemoryLimit, tensor, TensorMemoryError } from "mlrun";

const model = new nn.Sequential(new nn.Linear(8, 16), new nn.Tanh(), new nn.Linear(16, 4));
const optimizer = new optim.Adam(model.parameters(), { lr: 0.01 });
const x = ones([32, 8]), turned = tensor([[1, 2, 3], [4, 5, 6]]).T;
const folder = new Checkpoints("run");
const named = { x, turned, half: x.to("float16"), flags: x.gt(0) };
function step() {
  const loss = model.forward(x).square().mean();
  optimizer.zeroGrad();
  loss.backward();
  optimizer.step();
}
step();

const calls = {
  "saveSafetensors": () => io.saveSafetensors("a.safetensors", named),
  "saveNpz": () => io.saveNpz("a.npz", named, { compressed: true }),
  "saveNpy": () => io.saveNpy("a.npy", turned),
  "Checkpoints.save": () => folder.save(1, { model, optimizer }),
  "loadSafetensors": () => io.loadSafetensors("a.safetensors").turned.sum().item(),
  "loadNpz": () => io.loadNpz("a.npz").turned.sum().item(),
  "loadNpy": () => io.loadNpy("a.npy").sum().item(),
  "Checkpoints.load": () => folder.load({ model, optimizer }).step,
  "a training step": step,
};

/** What `call` gives, or null where it is refused. Its error, which holds what its stack names, ends here. */
function attempt(call) {
  try {
    return { result: call() };
  } catch (e) {
    if (!(e instanceof TensorMemoryError)) throw e;
    return null;
  } finally {
    setMemoryLimit(Infinity);
  }
}

/** Bytes that stay when `call` is refused; the first limit under which it is not. */
function sweep(name, call) {
  call(); // what it makes once is there
  let refused = 0, left = 0, result;
  for (let more = 0;; more += 256) {
    gc();
    const { liveBytes } = memoryStats();
    setMemoryLimit(liveBytes + more);
    const done = attempt(call);
    if (done !== null) {
      result = done.result;
      break;
    }
    refused++;
    gc();
    left = Math.max(left, memoryStats().liveBytes - liveBytes);
  }
  console.log(`${name}: ${refused === 0 ? "needs no memory" : refused > 1 ? "refused, then not" : refused}, left ${left}, gives ${result}`);
}

for (const [name, call] of Object.entries(calls)) sweep(name, call);
console.log("the files", io.loadNpy("a.npy").toArray().flat(), Object.keys(io.loadNpz("a.npz")));
