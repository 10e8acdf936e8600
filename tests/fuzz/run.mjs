// Differential fuzzing of the ownership pass on the real runtime: random programs must print the
// same with the pass, without it and with it verified.
//
//   MLRUN_BIN=.../mlrun node tests/fuzz/run.mjs [FIRST_SEED] [COUNT]
//
// Prints the first line that differs of each batch with the seed of its program; exit code 1.
// Not here: the programs, see runtime/compiler/tests/ownership/generate.mjs.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const binary = process.env.MLRUN_BIN ?? "mlrun";
const [first, count] = [Number(process.argv[2] ?? 1), Number(process.argv[3] ?? 200)];
const BATCH = 100;

function output(mode, folder, from, n) {
  const args = [...mode, here("drive.js"), folder, String(from), String(n)];
  const run = spawnSync(binary, args, { encoding: "utf8", maxBuffer: 2 ** 28 });
  if (run.error) throw run.error;
  return [...`${run.stdout}${run.stderr}`.split("\n"), `exit ${run.status ?? run.signal}`];
}

/** The first line that differs, with the program it is of. */
function difference(expected, got) {
  let program = "";
  for (let i = 0; i < Math.max(expected.length, got.length); i++) {
    if (expected[i]?.startsWith("program ")) program = expected[i];
    if (expected[i] !== got[i]) return `${program}, line ${i + 1}: ${expected[i]} became ${got[i]}`;
  }
  return undefined;
}

let [bad, lines] = [0, 0];
for (let from = first; from < first + count; from += BATCH) {
  const n = Math.min(BATCH, first + count - from);
  const folder = mkdtempSync(join(tmpdir(), "mlrun-fuzz-"));
  const made = spawnSync(process.execPath, [here("../../runtime/compiler/tests/ownership/generate.mjs"), folder, String(from), String(n)]);
  if (made.status !== 0) throw new Error(String(made.stderr));
  const expected = output(["--no-ownership"], folder, from, n);
  lines += expected.length;
  if (expected.filter((l) => l.startsWith("program ")).length !== n) throw new Error(expected.slice(-20).join("\n"));
  for (const mode of [[], ["--verify-ownership"]]) {
    const found = difference(expected, output(mode, folder, from, n));
    if (found === undefined) continue;
    bad++;
    console.log(`${mode[0] ?? "with the pass"}: ${found}`);
  }
  rmSync(folder, { recursive: true });
}
console.log(`${count} programs, ${lines} lines, ${bad} differences`);
process.exit(bad > 0 ? 1 : 0);
