// Differential run: `node differ.mjs PLAIN_DIR COMPILED_DIR`. Every program must print the same
// plain and compiled, without a use after release. Prints the first differences; exit code 1.

import { readdirSync } from "node:fs";
import { register } from "node:module";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

const here = new URL("./", import.meta.url).href;
register(`data:text/javascript,${encodeURIComponent(`
export async function resolve(specifier, context, next) {
  if (specifier === "mlrun") return { url: ${JSON.stringify(`${here}mlrun.js`)}, format: "module", shortCircuit: true };
  if (specifier === "ext:mlrun/ownership.js") return { url: ${JSON.stringify(new URL("../../runtime_half.js", here).href)}, format: "module", shortCircuit: true };
  return next(specifier, context);
}`)}`);
const { memoryStats, violations } = await import("./mlrun.js");

async function run(file) {
  let out = [];
  let steps = 0;
  const print = (v) => {
    if (++steps > 3000) throw new RangeError("too long");
    out.push(String(v));
    return 0;
  };
  globalThis.harness = { print };
  violations.length = 0;
  const before = memoryStats().released.byPass.tensors;
  try {
    await import(pathToFileURL(resolve(file)).href);
  } catch (error) {
    out.push(`uncaught ${error.name}: ${error.message}`);
  }
  return { out, violations: [...violations], released: memoryStats().released.byPass.tensors - before };
}

const [plainDir, compiledDir] = process.argv.slice(2);
let bad = 0, total = 0, released = 0, printed = 0;
for (const name of readdirSync(plainDir).filter((n) => n.endsWith(".js")).sort()) {
  total++;
  const plain = await run(`${plainDir}/${name}`);
  const compiled = await run(`${compiledDir}/${name}`);
  released += compiled.released;
  printed += plain.out.length;
  const at = plain.out.findIndex((line, i) => line !== compiled.out[i]);
  if (at >= 0 || plain.out.length !== compiled.out.length || compiled.violations.length) {
    bad++;
    if (bad <= 5) {
      console.log(`${name}: differs at line ${at}: ${plain.out[at]} | ${compiled.out[at]}; violations ${compiled.violations.length}`);
      if (compiled.violations[0]) console.log(compiled.violations[0]);
    }
  }
}
console.log(`${total} programs, ${bad} bad, ${printed} lines, ${released} released by the pass`);
process.exitCode = bad || !released ? 1 : 0;
