type Unused = { a: string };
function where(this: void): string {
  return (new Error("here") as Error).stack!;
}
console.log(where());
