process.exitCode = 3;
await new Promise((resolve) => setTimeout(resolve, 1));
console.log("runs to its end");
