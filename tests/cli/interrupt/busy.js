console.log("busy");
try {
  while (true) {}
} finally {
  console.log("never");
}
