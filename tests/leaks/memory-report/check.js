// Runs the page's own script over its own data, with just enough of a document.
import page from "./page.html" with { type: "text" };

console.log(/(src|href)=|@import|url\(|https?:\/\/(?!www\.w3\.org\/2000\/svg)/.test(page) ? "needs something" : "needs nothing but itself");
const json = page.match(/<script type="application\/json" id="data">(.*?)<\/script>/s)[1];
const script = page.match(/<script>\n"use strict";(.*?)<\/script>/s)[1];
console.log(script.trim().startsWith("{") ? "declares nothing in the window" : "declares names in the window");
const make = (name) => ({
  name, children: [], attributes: {}, textContent: "",
  appendChild(child) { this.children.push(child); },
  setAttribute(key, value) { this.attributes[key] = value; },
});
const parts = new Map();
const document = {
  getElementById(id) {
    if (!parts.has(id)) parts.set(id, make(id));
    return parts.get(id);
  },
  createElement: make,
  createElementNS: (_, name) => make(name),
};
document.getElementById("data").textContent = json;
new Function("document", script)(document);

const text = (e) => [e.textContent, ...e.children.map(text)].filter(Boolean).join(" | ");
const chart = parts.get("timeline").children[0];
const count = (name) => chart.children.filter((e) => e.name === name).length;
console.log(document.title);
console.log(text(parts.get("holders")));
console.log(text(parts.get("released")));
console.log(count("path") > 0, chart.children.every((e) => !/NaN|undefined/.test(JSON.stringify(e.attributes))));
console.log(text(parts.get("legend")));
