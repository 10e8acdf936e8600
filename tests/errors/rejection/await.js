async function step() {
  await null;
  throw new Error("after await");
}
await step();
