// Makes tfjs-core's tests importable by mlrun: `node prepare.mjs PACKAGE FOLDER`. The tests of ops
// and of gradients are copied; what they import from the package is the shim here. Not selected are
// the tests of tfjs's own machinery: engine, environment, platforms, storage, helpers (`*_util`).
import { copyFileSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const [, , packageFolder, out] = process.argv;
const here = dirname(fileURLToPath(import.meta.url));
const dist = join(packageFolder, "dist");
const GLOBALS = "describe, it, fit, xit, expect, beforeEach, afterEach, beforeAll, afterAll, spyOn, jasmine, expectAsync";
const SHIMS = { jasmine_util: "jasmine.js", test_util: "jasmine.js" };
for (const name of ["index", "ops", "ops/ops", "scalar", "tensor", "tensor1d", "tensor2d", "tensor3d"]) SHIMS[name] = "tf.js";

const selected = readdirSync(join(dist, "ops"), { recursive: true })
  .map((name) => join("ops", name))
  .concat("gradients_test.js")
  .filter((name) => name.endsWith("_test.js") && !name.endsWith("_util_test.js"))
  .sort();

const lines = ['import { finish, startFile } from "./jasmine.js";'];
selected.forEach((name, i) => {
  const text = readFileSync(join(dist, name), "utf8").replace(/\/\/# sourceMappingURL=.*/, "");
  const target = `test${i}.js`;
  // What the shims do not have, and what comes from other modules, is `missing`.
  let count = 0;
  const rewritten = text.replace(/^import (.*?)(?: from )?['"](.*?)['"];/gms, (_, names, from) => {
    const shim = SHIMS[from.replace(/^(\.\.?\/)+/, "")];
    const all = /\* as (\w+)/.exec(names)?.[1];
    if (all) return shim ? `import * as ${all}$ from "./${shim}"; const ${all} = lenient$(${all}$);` : `const ${all} = missing$("${from}");`;
    const list = /\{(.*)\}/s.exec(names)?.[1].split(",").map((n) => n.trim()).filter(Boolean) ?? [];
    const own = `shim${count++}$`;
    const bound = list.map((n) => {
      const [name, local = name] = n.split(" as ");
      return `const ${local} = ${shim ? `${own}.${name} ?? ` : ""}missing$("${name}");`;
    });
    return (shim ? `import * as ${own} from "./${shim}"; ` : "") + bound.join(" ");
  });
  writeFileSync(join(out, target), `import { ${GLOBALS}, lenient as lenient$, missing as missing$ } from "./jasmine.js";\n${rewritten}`);
  lines.push(`startFile("${name.replace("_test.js", "")}", () => import("./${target}"));`);
});
lines.push("await finish();", "");
writeFileSync(join(out, "run.js"), lines.join("\n"));
for (const name of ["tf.js", "nn.js", "tensors.js", "jasmine.js", "excluded.js"]) copyFileSync(join(here, name), join(out, name));
