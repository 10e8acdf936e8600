// A heap that fills up where scripts seldom run ends the program with an error, as anywhere else.
import { autograd, checkpoint, concat, data, gc, ones, tidy, valueAndGrad, zeros } from "mlrun";

function bomb() {
  const list = [];
  for (;;) list.push({});
}
class Step extends autograd.Function {
  static forward(ctx, x) {
    return x.mul(1);
  }
  static backward(ctx, g) {
    bomb();
    return g;
  }
}
const leaf = () => ones([1]).requiresGrad_();

const places = {
  "toString": () => String({ toString: bomb }),
  "toJSON": () => JSON.stringify({ toJSON: bomb }),
  "a reviver": () => JSON.parse("[1, 2]", bomb),
  "printing": () => console.log({ [Symbol.for("Deno.customInspect")]: bomb }),
  "a stack trace": () => {
    Error.prepareStackTrace = bomb;
    throw new Error("seen by nobody");
  },
  "the message of what is thrown": () => {
    throw Object.defineProperty(new Error(), "message", { get: bomb });
  },
  "a sort": () => [3, 1, 2].sort(bomb),
  "a shape": () => zeros({ length: 2, get 0() { return bomb(); }, 1: 1 }),
  "options": () => ones([2], new Proxy({}, { ownKeys: bomb })),
  "backward": () => Step.apply(leaf()).sum().backward(),
  "checkpoint": () => checkpoint(bomb, leaf()),
  "valueAndGrad": () => valueAndGrad(bomb)(ones([1])),
  "tidy": () => tidy(bomb),
  "a data set": () => [...new data.DataLoader({ length: 4, get: bomb }, { batchSize: 2 })],
  "a finalizer": async () => {
    const registry = new FinalizationRegistry(bomb);
    (() => registry.register({}, 1))();
    setTimeout(gc, 1);
    await new Promise((resolve) => setTimeout(resolve, 1e6));
  },
  "a message": () => {
    const { port1, port2 } = new MessageChannel();
    port2.onmessage = bomb;
    port1.postMessage(1);
  },
  "a handler of errors": () => {
    globalThis.addEventListener("unhandledrejection", bomb);
    Promise.reject(1);
  },
  "beside tensors": () => {
    const tensors = [];
    for (;;) tensors.push(concat([ones([1]), ones([1])]), new Array(1000).fill(1));
  },
};
await places[process.argv[2]]();
