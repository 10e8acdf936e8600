// Runs programs of the generator on real tensors: `mlrun drive.js FOLDER FIRST_SEED COUNT`.
//
// Prints what each prints. The same with `--no-ownership` and `--verify-ownership` must give the
// same text. Programs come from generator.js.
import { Tensor } from "mlrun";

const [folder, first, count] = process.argv.slice(-3);
const end = Number(first) + Number(count);

/** Waits for a program; fails for one that waits for itself. */
async function within(program) {
  let timer;
  const late = new Promise((_, fail) => (timer = setTimeout(() => fail(new Error("hangs")), 20000)));
  try {
    await Promise.race([program, late]);
  } finally {
    clearTimeout(timer);
  }
}

for (let seed = Number(first); seed < end; seed++) {
  let steps = 0;
  const print = (v) => {
    if (++steps > 3000) throw new RangeError("too long");
    console.log(v instanceof Tensor ? `[${v.shape}] ${v.sum().item()}` : String(v));
    return 0;
  };
  globalThis.harness = { print };
  console.log(`program ${seed}`);
  try {
    await within(import(`file://${folder}/p${seed}.js`));
  } catch (e) {
    console.log(`uncaught ${e.name}: ${e.message}`);
  }
}
