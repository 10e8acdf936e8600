// An expression parser and evaluator: recursive calls, small objects, strings.
class Parser {
  constructor(text) { this.text = text; this.at = 0; }
  peek() { return this.text.charCodeAt(this.at); }
  next() { return this.text.charCodeAt(this.at++); }
  number() { let n = 0; while (this.peek() >= 48 && this.peek() <= 57) n = n * 10 + this.next() - 48; return { kind: 0, value: n, left: null, right: null }; }
  factor() {
    if (this.peek() === 40) { this.next(); const e = this.sum(); this.next(); return e; }
    return this.number();
  }
  product() { let e = this.factor(); while (this.peek() === 42) { this.next(); e = { kind: 2, value: 0, left: e, right: this.factor() }; } return e; }
  sum() { let e = this.product(); while (this.peek() === 43) { this.next(); e = { kind: 1, value: 0, left: e, right: this.product() }; } return e; }
}
const evaluate = (e) => (e.kind === 0 ? e.value : e.kind === 1 ? evaluate(e.left) + evaluate(e.right) : evaluate(e.left) * evaluate(e.right) % 1000003);
export function main() {
  const text = "(1+2*3)*(4+5)+6*(7+8*(9+10))+".repeat(20) + "1";
  let sum = 0;
  for (let i = 0; i < 60; i++) sum += evaluate(new Parser(text).sum());
  return sum;
}
