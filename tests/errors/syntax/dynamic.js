try {
  await import("./main.js");
} catch (error) {
  console.log(error.message.replace(import.meta.dirname, ""));
}
try {
  await import("./gone.js");
} catch (error) {
  console.log(error.message.replaceAll(import.meta.dirname, ""));
}
