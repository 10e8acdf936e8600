// What the ownership pass costs programs without tensors: `node run.mjs COMPILED_DIR [BLOCKS]`.
//
// COMPILED_DIR holds programs/*.js after `cargo run -p mlrun_compiler --example own COMPILED_DIR
// benches/ownership/programs/*.js`. Plain and compiled text run in alternating blocks in one
// process; prints the ratio of the medians for each program, and their geometric mean.

import { readdirSync, writeFileSync } from "node:fs";
import { register } from "node:module";
import { resolve } from "node:path";
import { performance } from "node:perf_hooks";
import { pathToFileURL } from "node:url";

const js = new URL("../../js/", import.meta.url).href;
register(`data:text/javascript,${encodeURIComponent(`export async function resolve(s, c, n) {
  const room = s === "ext:mlrun/ownership.js" ? "00_ownership.js" : s.startsWith("ext:mlrun_tensor/") && s.slice(17);
  return room ? { url: ${JSON.stringify(js)} + room, format: "module", shortCircuit: true } : n(s, c);
}`)}`);
const { configure } = await import("ext:mlrun/ownership.js");
class Handle {
  #id = 0;
  static is = (v) => #id in v;
  static drop = (v) => typeof v === "object" && v !== null && #id in v;
}
configure({ is: Handle.is, shared: () => false, share() {}, retain() {}, release() {}, drop: Handle.drop, offer() {}, operations: new Set(), isProxy: () => false });

const dir = resolve(process.argv[2]);
writeFileSync(`${dir}/package.json`, '{"type":"module"}');
const blocks = Number(process.argv[3] ?? 9);
const median = (list) => list.sort((a, b) => a - b)[list.length >> 1];
let product = 1, count = 0;
for (const name of readdirSync(new URL("programs", import.meta.url)).sort()) {
  const versions = [
    await import(new URL(`programs/${name}`, import.meta.url)),
    await import(pathToFileURL(`${dir}/${name}`)),
  ];
  const times = [[], []];
  if (versions[0].main() !== versions[1].main()) throw new Error(`${name}: results differ`);
  for (let i = 0; i < blocks; i++) {
    for (const v of i % 2 ? [0, 1] : [1, 0]) {
      const start = performance.now();
      versions[v].main();
      times[v].push(performance.now() - start);
    }
  }
  const ratio = median(times[1]) / median(times[0]);
  product *= ratio;
  count++;
  console.log(`${name.padEnd(16)} ${ratio.toFixed(2)}x  (plain ${median(times[0]).toFixed(1)} ms, compiled ${median(times[1]).toFixed(1)} ms)`);
}
console.log(`geometric mean   ${(product ** (1 / count)).toFixed(2)}x`);
