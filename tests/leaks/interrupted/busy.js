// Ctrl-C ends a training run; what was asked for is still said.
import { ones } from "mlrun";

const kept = ones([250, 1000]);
console.log("busy");
try {
  for (;;) kept.add(1);
} finally {
  console.log("never");
}
