import { one } from "./one.js";
import data from "./data.json" with { type: "json" };
import text from "./note.txt" with { type: "text" };
import bytes from "./note.txt" with { type: "bytes" };
import * as self from "./main.js";
import { even } from "./even.js";

export const name = "main";
console.log(one, data.list.length, JSON.stringify(text), bytes instanceof Uint8Array, bytes.length);
console.log(self.name, even(10), even(7));

const { one: again } = await import("./one.js");
const absolute = await import(`${import.meta.dirname}/one.js`);
const fileUrl = await import(new URL("./one.js", import.meta.url).href);
console.log(again === one, absolute.one, fileUrl.one === absolute.one);

const { default: later } = await import("./data.json", { with: { type: "json" } });
console.log(later === data);
