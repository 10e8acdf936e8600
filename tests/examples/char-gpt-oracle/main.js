// Twenty steps of char-gpt's model from PyTorch's weights on PyTorch's batches: losses and norms
// of the gradients are PyTorch's, which losses.json holds in float64 arithmetic.
import { io, nn, optim } from "mlrun";
import oracle from "./losses.json" with { type: "json" };

const { GPT } = await import(process.env.MODEL);
const { L, H, C, T, V, lr, betas, weightDecay, clip } = oracle.config;
const model = new GPT({ vocabulary: V, context: T, layers: L, heads: H, width: C });
model.loadStateDict(io.loadSafetensors("weights.safetensors"));
const optimizer = new optim.AdamW(model.parameters(), { lr, betas, weightDecay });
const { x, y } = io.loadSafetensors("batches.safetensors");

let worst = { loss: 0, gradNorm: 0 };
for (let step = 0; step < oracle.loss.length; step++) {
  const loss = model.loss(x.select(0, step).to("int64"), y.select(0, step).to("int64"));
  optimizer.zeroGrad();
  loss.backward();
  const gradNorm = nn.utils.clipGradNorm_(model.parameters(), clip);
  optimizer.step();
  for (const [name, value] of Object.entries({ loss, gradNorm })) {
    const error = Math.abs(value.item() - oracle[name][step]) / oracle[name][step];
    worst[name] = Math.max(worst[name], error);
    if (!(error <= 1e-5)) console.log(`step ${step}: ${name} is ${value.item()}, expected ${oracle[name][step]}`);
  }
}
console.log(`${oracle.loss.length} steps, ${Object.entries(worst).map(([name, v]) => `${name} within ${v <= 1e-5 ? "1e-5" : v}`).join(", ")}`);
