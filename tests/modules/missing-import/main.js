// ünïcödé before the import must not shift the place
import { a } from "./there.js";
console.log(a);
