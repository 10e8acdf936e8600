// --trace-leaks: what is alive at the end, by line, and who holds it.
import { ones, randn, zeros, type Tensor } from "mlrun";

interface Cache {
  rows: Tensor[];
}
const cache: Cache = { rows: [] };
const keep: Map<string, Tensor> = new Map();

function remember(n: number): void {
  for (let i = 0; i < n; i++) cache.rows.push(ones([10, 10]));
}

/** Keeps the map alive. */
export const size = (): number => keep.size;

remember(3);
keep.set("weights", zeros([2, 3]));
const temporary = randn([100]).mul(2).sum().item();
console.log(typeof temporary);
