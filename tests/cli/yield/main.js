// Timers have their turn in a plain loop only where the program asks for it.
import { gc } from "mlrun";
import { longest } from "./lib.js";

const spin = (ms) => {
  const end = performance.now() + ms;
  while (performance.now() < end);
};
let ticks = 0;
const timer = setInterval(() => ticks++, 10);
for (let step = 0; step < 200; step++) spin(1);
console.log("timers in a loop at the top level:", ticks === 0 ? "none" : ticks >= 8 ? "many" : ticks);
ticks = 0;
await longest(spin);
console.log("in a function with the directive:", ticks >= 8 ? "many" : ticks);
ticks = 0;
await (async () => {
  for (let i = 0; i < 200; i++) {
    await null;
    spin(1);
  }
})();
console.log("where only settled promises are awaited:", ticks === 0 ? "none" : ticks >= 8 ? "many" : ticks);
clearInterval(timer);
let continued = 0, finalized = 0;
const registry = new FinalizationRegistry(() => finalized++);
for (let i = 0; i < 40; i++) {
  Promise.resolve().then(() => continued++).then(() => continued++);
  registry.register({ i });
  if (i % 10 === 9) gc();
  spin(4);
}
const several = (n) => (n === 0 ? "none" : n >= 8 ? "many" : n);
console.log("promises and finalizers:", several(continued), several(finalized));
console.log(longest.toString().includes("use yield"), longest.name);
