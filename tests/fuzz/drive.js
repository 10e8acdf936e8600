// Runs programs of the generator on real tensors: `mlrun drive.js FOLDER FIRST_SEED COUNT [places]`.
//
// Prints what each prints. The same with `--no-ownership` and `--verify-ownership` must give the
// same text. Programs come from generator.js.
import { Tensor, manualSeed } from "mlrun";

const [folder, first, count, places] = process.argv.slice(2);
const end = Number(first) + Number(count);
// Without places of errors and of releases everything is faster; messages.js compares them.
if (places === undefined) Error.stackTraceLimit = 0;

/** Waits for a program; fails for one that waits for itself. */
async function within(program) {
  let timer;
  const late = new Promise((_, fail) => (timer = setTimeout(() => fail(new Error("hangs")), 60000)));
  try {
    await Promise.race([program, late]);
  } finally {
    clearTimeout(timer);
  }
}

for (let seed = Number(first); seed < end; seed++) {
  let steps = 0;
  const lines = [];
  const print = (v) => {
    if (++steps > 3000) throw new RangeError("too long");
    lines[lines.length] = v instanceof Tensor ? `[${v.shape}] ${v.sum().item()}` : String(v);
    return 0;
  };
  globalThis.harness = { print };
  console.log(`program ${seed}`);
  manualSeed(seed);
  try {
    await within(import(`file://${folder}/p${seed}.js`));
  } catch (e) {
    lines[lines.length] = `uncaught ${e.name}: ${e.message}`;
  }
  if (lines.length > 0) console.log(lines.join("\n"));
}
