// Tokens per second of generation with a KV cache: `mlrun benches/generate.js SECONDS`, beside generate.py.
import { GPT } from "../examples/lib/gpt.js";

const model = new GPT({ vocabulary: 65, context: 64, layers: 4, heads: 4, width: 128 }).eval();
const seconds = Number(process.argv[2] ?? 5);
const text = Array.from({ length: 16 }, (_, i) => i);
for (const _ of model.generate(text, 64)) continue; // warm
let tokens = 0;
const start = performance.now();
while (performance.now() - start < seconds * 1000) for (const _ of model.generate(text, 32)) tokens++;
console.log(JSON.stringify({ rate: tokens / (performance.now() - start) * 1000 }));
