// Differential run: `node differ.mjs PLAIN_DIR COMPILED_DIR`. Every program must print the same
// plain and compiled, without a use after release. Prints the first differences; exit code 1.
// `MUTANT` names a rule to break, see mutants.mjs; `MUTANTS=all` tries each in its own process.

import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { register } from "node:module";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

import { mutants } from "./mutants.mjs";

if (process.env.MUTANTS) {
  const alive = Object.keys(mutants).filter((name) => {
    const env = { ...process.env, MUTANTS: "", MUTANT: name };
    const run = spawnSync(process.execPath, ["--no-warnings", ...process.argv.slice(1)], { env, encoding: "utf8" });
    return run.status === 0 || run.stderr.includes("does not apply");
  });
  console.log(`${Object.keys(mutants).length} mutants, alive: ${alive.join(", ") || "none"}`);
  process.exit(alive.length ? 1 : 0);
}

/** Every replacement of emitted code must have a place in some program. */
function inEmitted(edits) {
  const programs = readdirSync(process.argv[3]).filter((n) => n.endsWith(".js")).map((n) => readFileSync(`${process.argv[3]}/${n}`, "utf8"));
  return edits.every(([from]) => programs.some((text) => (typeof from === "string" ? text.includes(from) : text.search(from) >= 0)));
}

/** Replacements in a form that another thread can read. */
const plainEdits = (edits) => edits?.map(([from, to]) => typeof from === "string" ? [from, null, to] : [from.source, from.flags, to]);
const chosen = mutants[process.env.MUTANT];
const js = new URL("../../../../js/", import.meta.url);
const runtime = readdirSync(js).filter((name) => name.startsWith("00_own")).map((name) => readFileSync(new URL(name, js), "utf8"));
const inRuntime = ([from]) => runtime.some((text) => text.includes(from));
if ((chosen?.runtime && !chosen.runtime.every(inRuntime)) || (chosen?.emitted && !inEmitted(chosen.emitted))) {
  console.error("mutant does not apply");
  process.exit(0);
}
const mutant = chosen && { runtime: plainEdits(chosen.runtime), emitted: plainEdits(chosen.emitted) };

const here = new URL("./", import.meta.url).href;
register(`data:text/javascript,${encodeURIComponent(`
import { readFileSync } from "node:fs";
export async function resolve(specifier, context, next) {
  if (specifier === "mlrun") return { url: ${JSON.stringify(`${here}mlrun.js`)}, format: "module", shortCircuit: true };
  const room = specifier === "ext:mlrun/ownership.js" ? "00_ownership.js" : specifier.startsWith("ext:mlrun_tensor/") && specifier.slice(17);
  if (room) return { url: ${JSON.stringify(new URL("../../../../js/", here).href)} + room, format: "module", shortCircuit: true };
  return next(specifier, context);
}
export async function load(url, context, next) {
  const mutant = ${JSON.stringify(mutant)};
  if (!mutant || !url.startsWith("file:")) return next(url, context);
  const edits = /\\/00_own[^/]*$/.test(url) ? mutant.runtime : url.startsWith(${JSON.stringify(pathToFileURL(resolve(process.argv[3])).href)}) ? mutant.emitted : undefined;
  if (!edits) return next(url, context);
  let source = readFileSync(new URL(url), "utf8");
  for (const [from, flags, to] of edits) {
    const changed = source.replace(flags === null ? from : new RegExp(from, flags), flags === null ? () => to : to);
    source = changed;
  }
  return { format: "module", source, shortCircuit: true };
}
`)}`);
const { memoryStats, violations } = await import("./mlrun.js");

process.on("unhandledRejection", (error) => violations.push(String(error?.stack)));

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
    // A mutant dies once.
    if (mutant) break;
  }
}
console.log(`${total} programs, ${bad} bad, ${printed} lines, ${released} released by the pass`);
process.exitCode = bad || !released ? 1 : 0;
