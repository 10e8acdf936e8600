// What is left alone: nothing in it points at tensors, and nobody hands it one.
import { randn } from "mlrun";

function parse(text) {
  const parts = [];
  for (const c of text) parts.push(code(c));
  return parts;
}

function code(c) {
  return c.charCodeAt(0);
}

class Cursor {
  constructor(at) {
    this.at = at;
  }
  next(n) {
    this.at += n;
    return this;
  }
}

function keep(list, x) {
  list.push(x);
}

export function main() {
  const list = [];
  keep(list, randn([2]));
  return list[0].sum().item() + parse("text").length + new Cursor(1).next(2).at;
}
