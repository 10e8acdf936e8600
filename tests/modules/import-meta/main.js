import { child } from "./sub dir/child.js";
console.log(import.meta.url);
console.log(import.meta.filename, import.meta.dirname);
console.log(import.meta.main, child.main);
console.log(import.meta.resolve("./x.js"), child.url);
try {
  import.meta.resolve("no-such-package");
} catch (error) {
  console.log(error.name, error.message);
}
