// Command lines of the examples: `--name value` for each name in `defaults`, of its type.

/** The defaults with what stands on the command line; a mistake ends the program with code 2. */
export function readOptions(defaults) {
  const given = process.argv.slice(2), out = { ...defaults };
  for (let i = 0; i < given.length; i += 2) {
    const name = given[i].replace(/^--/, ""), text = given[i + 1];
    if (!given[i].startsWith("--") || !Object.hasOwn(defaults, name)) {
      fail(`unknown option ${given[i]}, expected ${Object.keys(defaults).map((k) => `--${k}`).join(", ")}`);
    }
    if (text === undefined) fail(`--${name}: expected a value`);
    out[name] = typeof defaults[name] === "number" ? Number(text) : text;
    if (Number.isNaN(out[name])) fail(`--${name}: got ${text}, expected a number`);
  }
  return out;
}

function fail(problem) {
  console.error(problem);
  process.exit(2);
}
