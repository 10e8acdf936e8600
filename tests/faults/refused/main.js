// What V8 can refuse is an error that the script can catch.
for (const [name, f] of Object.entries({
  "a string doubled for ever": () => { let s = "x"; for (;;) s += s; },
  "a typed array larger than any memory": () => new Float64Array(2 ** 40),
  "an array buffer larger than the machine": () => new ArrayBuffer(2 ** 44),
})) {
  try {
    f();
    console.log(`${name}: no error`);
  } catch (e) {
    console.log(`${name}: ${e.name}: ${e.message}`);
  }
}
