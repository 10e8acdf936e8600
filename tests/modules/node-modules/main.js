import plain, { version } from "plain";
import { sub } from "@scope/pkg/sub";
import conditional from "conditional";
import { detected } from "untyped";
console.log(plain, version, sub, conditional, detected);
for (const name of ["@scope/pkg/hidden.js", "common", "common/data.json", "fs", "node:fs", "missing", "https://a.b/c.js"]) {
  try {
    await import(name);
    console.log(name, "imported");
  } catch (error) {
    console.log(`${name}: ${error.name}: ${error.message.replaceAll(import.meta.dirname, "")}`);
  }
}
