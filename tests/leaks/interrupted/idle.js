import { ones } from "mlrun";

const kept = ones([250, 1000]);
console.log("idle");
setInterval(() => kept.shape, 1000);
await new Promise(() => {});
