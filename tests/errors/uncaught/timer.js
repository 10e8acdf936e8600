setTimeout(() => {
  throw new Error("in a timer");
}, 1);
setTimeout(() => console.log("never"), 20_000);
