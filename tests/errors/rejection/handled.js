const p = Promise.reject(new Error("x"));
p.catch((e) => console.log("caught", e.message));
