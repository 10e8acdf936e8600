// The real weights: token ids are the same as the original tokenizer's, and embeddings within 1e-4 of
// PyTorch's, one by one and in one padded batch.
import { noGrad } from "mlrun";
import oracle from "./oracle.json" with { type: "json" };

const { loadMiniLM } = await import(process.env.EXAMPLE);
const { model, tokenizer } = await loadMiniLM(process.env.MODEL);
let ids = 0;
for (const { sentence, ids: want } of oracle.rows) {
  const got = tokenizer.encode(sentence);
  if (got.join() === want.join()) ids++;
  else console.log(`${sentence}: got ${got}, expected ${want}`);
}
let worst = 0;
const compare = (got, want) => got.forEach((v, i) => worst = Math.max(worst, Math.abs(v - want[i])));
noGrad(() => {
  for (const { sentence, embedding } of oracle.rows) compare(model.forward(tokenizer.batch([sentence])).flatten().toArray(), embedding);
  const all = model.forward(tokenizer.batch(oracle.rows.map((row) => row.sentence))).toArray();
  all.forEach((row, i) => compare(row, oracle.rows[i].embedding));
});
console.log(`${ids} of ${oracle.rows.length} sentences have the same ids, embeddings are within ${worst <= 1e-4 ? "1e-4" : worst}`);
