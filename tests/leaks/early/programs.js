// Runs programs of the compiler's own tests on the real heap; the arguments name them.
globalThis.harness = { print: (v) => console.log(v) };
for (const file of process.argv.slice(2)) await import(file);
