// Uses of a disposed tensor: the name that the program called, where it was disposed and made.
import { nn, tensor } from "mlrun";

const t = tensor([1]);
t.dispose();
const layer = new nn.Linear(2, 2);
for (const use of [
  () => t.item(), () => t.shape, () => t.dtype, () => t.size, () => t.toArray(), () => `${t}`, () => [...t],
  () => t.requiresGrad, () => t.isLeaf, () => t.grad, () => t.backward(), () => t.sum(), () => t.index(0),
  () => t.split(1), () => t.detach(), () => layer.forward(t), () => nn.functional.softmax(t, 0), () => t.add_(1),
]) {
  try {
    console.log(`${use}`, use());
  } catch (e) {
    console.log(`${use}: ${e.name}: ${e.message.replaceAll(/file:.*?\/(?=disposed.js)/g, "")}`);
  }
}
await t.data().catch((e) => console.log(`data: ${e.name}: ${e.message.slice(0, 28)}`));
