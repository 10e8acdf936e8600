addEventListener("unhandledrejection", (event) => {
  console.log("saw", event.reason.message);
  event.preventDefault();
});
addEventListener("error", (event) => {
  console.log("saw", event.message, event.error instanceof RangeError);
  event.preventDefault();
});
Promise.reject(new Error("rejected"));
setTimeout(() => {
  throw new RangeError("thrown");
}, 300);
