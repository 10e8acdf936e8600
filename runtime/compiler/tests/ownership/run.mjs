// Runs compiled programs against the stand-in library and reports violations.
//
// usage: node run.mjs FILE...   Each file's "mlrun" and runtime imports are resolved here. Prints
// the program's own output, then a line `@violations N`, `@released N`, `@live N`.

import { register } from "node:module";

const here = new URL("./", import.meta.url).href;
register(`data:text/javascript,${encodeURIComponent(`
export async function resolve(specifier, context, next) {
  if (specifier === "mlrun") return { url: ${JSON.stringify(`${here}mlrun.js`)}, format: "module", shortCircuit: true };
  const room = specifier === "ext:mlrun/ownership.js" ? "00_ownership.js" : specifier.startsWith("ext:mlrun_tensor/") && specifier.slice(17);
  if (room) return { url: ${JSON.stringify(new URL("../../../../js/", here).href)} + room, format: "module", shortCircuit: true };
  return next(specifier, context);
}`)}`);

const { memoryStats, violations } = await import("./mlrun.js");
for (const file of process.argv.slice(2)) {
  try {
    await import(new URL(file, `file://${process.cwd()}/`));
  } catch (error) {
    console.log(`uncaught ${error}`);
    if (process.env.STACK) console.log(error.stack);
  }
}
const stats = memoryStats();
if (process.env.REPORT) {
  console.log(`@violations ${violations.length} released ${stats.released.byPass.tensors} live ${stats.liveTensors}`);
  for (const v of violations.slice(0, 3)) console.log(v);
}
