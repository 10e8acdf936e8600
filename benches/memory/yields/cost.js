// A plain loop of training steps at a module's top level: `mlrun [--yield] cost.js STEPS`, see yields.py.
import { training } from "./step.js";

const steps = Number(process.argv[2]), step = training(64);
let ticks = 0;
const interval = setInterval(() => ticks++, 10);
for (let i = 0; i < steps; i++) step();
clearInterval(interval);
console.log(ticks);
