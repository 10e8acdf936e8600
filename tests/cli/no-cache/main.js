console.log("runs");
