// Runs programs of the generator on real tensors: `mlrun drive.js FOLDER FIRST_SEED COUNT`.
//
// Prints what each prints. The same with `--no-ownership` and `--verify-ownership` must give the
// same text. Programs come from runtime/compiler/tests/ownership/generate.mjs.
import { Tensor } from "mlrun";

const [folder, first, count] = process.argv.slice(-3);
const end = Number(first) + Number(count);

/** Fails for a program that waits for itself. */
const late = () => new Promise((_, fail) => setTimeout(() => fail(new Error("hangs")), 2000));

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
    await Promise.race([import(`file://${folder}/p${seed}.js`), late()]);
  } catch (e) {
    console.log(`uncaught ${e.name}: ${e.message}`);
  }
}
