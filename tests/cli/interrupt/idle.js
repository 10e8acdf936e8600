console.log("idle");
setInterval(() => {}, 1000);
await new Promise(() => {});
