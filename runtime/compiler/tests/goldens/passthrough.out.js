#!/usr/bin/env mlrun
'use strict';
import data from "./x.json" with { type: "json" };
import defer * as d from "./d.js";
export * as ns from "./n.js";
const re = /(?<a>x)|(?<a>y)/v, big = 1_000n;
class A { #x = 1; static { this.y = 2; } static async *[Symbol.iterator]() { yield* []; } get x() { return #x in this; } }
label: for await (const x of data) { if (x?.y ?? x) continue label; }
a ||= b; a &&= b; a ??= b;
{ using r = open(); await using q = open(); }
export default await import.meta.resolve("x");
