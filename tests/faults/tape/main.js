// A loop that records ops for a gradient that nobody asks for meets the limit of tensors, though its
// tensors are small; what it recorded is gone with the last of them.
import { memoryStats, ones, TensorMemoryError } from "mlrun";

function endless(step) {
  let y = ones([1], { requiresGrad: true });
  try {
    for (;;) y = step(y);
  } catch (error) {
    const [op, ...rest] = error.message.split(": ");
    return [error instanceof TensorMemoryError, op, rest.join().includes("detach() what a loop carries on")].join(" ");
  }
}
const loops = { add: (y) => y.add(1), tanh: (y) => y.tanh(), shapes: (y) => y.reshape([1, 1]).squeeze(0) };
for (const [name, step] of Object.entries(loops)) {
  console.log(name, endless(step));
  const w = ones([4], { requiresGrad: true });
  w.mul(2).sum().backward();
  console.log(w.grad.toArray().join(), memoryStats().liveBytes < 1e6);
}
console.log("below", process.memoryUsage().rss < 400e6);
