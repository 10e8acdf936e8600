console.log("before");
setTimeout(() => console.log("never"), 0);
process.exit(7);
console.log("never");
