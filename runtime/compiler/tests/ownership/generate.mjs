// Writes random programs into files: `node generate.mjs OUT_DIR FIRST_SEED COUNT`.

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";

import { program } from "../../../../tests/fuzz/generator.js";

const [dir, first, count] = [process.argv[2], Number(process.argv[3]), Number(process.argv[4])];
mkdirSync(dir, { recursive: true });
const prelude = readFileSync(new URL("../../../../tests/fuzz/prelude.js", import.meta.url), "utf8");
writeFileSync(`${dir}/prelude.js`, prelude);
for (let seed = first; seed < first + count; seed++) writeFileSync(`${dir}/p${seed}.js`, program(seed, prelude, false));
