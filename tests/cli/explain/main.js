import { nn, randn } from "mlrun";
export let best = null;
const history = [];
export function step(w, batches) {
  for (const [x, y] of batches(8)) {
    const error = x.matmul(w).sub(y);
    const again = () => error.sum();
    history.push(again);
    w = w.sub(error.mean().mul(0.1));
    if (error.shape[0] > 3) best = w;
  }
  return w;
}
function old() { return arguments[0]; }
export const first = (a = randn([2])) => old(a.neg()).add(1);
export class Scale extends nn.Module { forward(x) { return x.mul(2); } }
