// What the ownership pass costs: a chain of ten ops on small tensors, released by the pass or by
// hand. Run both in turn, several times, and compare the medians:
//
//   mlrun benches/ownership.js                        # temporaries go by the pass
//   mlrun --no-ownership benches/ownership.js hand    # the same, with dispose() placed by hand
//
// Prints ns per op and how many tensors who released. `ownership.py` does the same in processor time.
import { memoryStats, randn } from "mlrun";

const hand = process.argv[2] === "hand";
const x = randn([16]);

const byPass = (x) => x.add(1).mul(2).sub(x).neg().relu().add(x).mul(x).exp().sub(1).abs();

function byHand(x) {
  const a = x.add(1);
  const b = a.mul(2);
  a.dispose();
  const c = b.sub(x);
  b.dispose();
  const d = c.neg();
  c.dispose();
  const e = d.relu();
  d.dispose();
  const f = e.add(x);
  e.dispose();
  const g = f.mul(x);
  f.dispose();
  const h = g.exp();
  g.dispose();
  const i = h.sub(1);
  h.dispose();
  const j = i.abs();
  i.dispose();
  return j;
}

function run(turns) {
  if (hand) for (let i = 0; i < turns; i++) byHand(x).dispose();
  else for (let i = 0; i < turns; i++) byPass(x);
}

const turns = Number(process.argv[3] ?? 0);
if (turns > 0) {
  run(turns);
} else {
  run(20_000);
  const blocks = [];
  for (let k = 0; k < 15; k++) {
    const start = performance.now();
    run(10_000);
    blocks.push(((performance.now() - start) * 1e6) / 100_000);
  }
  blocks.sort((a, b) => a - b);
  const { released } = memoryStats();
  console.log(
    `${hand ? "by hand" : "by the pass"}: ${blocks[7].toFixed(1)} ns per op, best ${blocks[0].toFixed(1)};`,
    `pass ${released.byPass.tensors}, dispose ${released.byDispose.tensors}, collector ${
      released.byMinorGC.tensors + released.byMajorGC.tensors
    }`,
  );
}
