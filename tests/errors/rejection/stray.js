Promise.reject(new Error("stray"));
setTimeout(() => console.log("never"), 20_000);
