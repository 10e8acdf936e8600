// Prints random programs: `mlrun write.js FIRST_SEED COUNT`, one JSON text a line.
//
// The last line says how often each rule was exercised. See tests/fuzz.rs.
import { program } from "./generator.js";
import prelude from "./prelude.js" with { type: "text" };
import { rules } from "./rules.js";

const [first, count] = process.argv.slice(-2).map(Number);
for (let seed = first; seed < first + count; seed++) console.log(JSON.stringify(program(seed, prelude)));
console.log(JSON.stringify(rules));
