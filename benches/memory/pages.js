// The programs of pages.py: `mlrun benches/memory/pages.js NAME` prints milliseconds of processor time.
import { full, ones, randn } from "mlrun";

const programs = {
  /** Memory that is new to the process: 40 tensors of 16 MB are held, then all are dropped. */
  hold() {
    for (let i = 0; i < 8; i++) {
      const held = [];
      for (let j = 0; j < 40; j++) held.push(full([1 << 22], 1));
    }
  },
  chain() {
    let x = ones([1 << 22]);
    for (let i = 0; i < 200; i++) x = x.mul(0.5).add(1);
  },
  matmul() {
    const a = randn([2048, 2048]), b = randn([2048, 2048]);
    for (let i = 0; i < 6; i++) a.matmul(b);
  },
};

const start = process.threadCpuUsage();
programs[process.argv[2]]();
const { user, system } = process.threadCpuUsage(start);
console.log((user + system) / 1000);
