console.log("waiting");
await new Promise(() => {});
console.log("never");
