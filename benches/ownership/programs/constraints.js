// A chain of one-way constraints over variables, planned and executed again and again.
class Variable { constructor(value) { this.value = value; this.constraints = []; this.mark = 0; } add(c) { this.constraints.push(c); } }
class Scale {
  constructor(from, to, factor) { this.from = from; this.to = to; this.factor = factor; from.add(this); }
  isReady(mark) { return this.from.mark === mark; }
  execute() { this.to.value = this.from.value * this.factor + 1; }
  output() { return this.to; }
}
class Planner {
  plan(source, mark) {
    const plan = [], work = [source];
    source.mark = mark;
    while (work.length > 0) {
      const v = work.pop();
      for (const c of v.constraints) {
        if (!c.isReady(mark)) continue;
        plan.push(c);
        c.output().mark = mark;
        work.push(c.output());
      }
    }
    return plan;
  }
  execute(plan) { for (let i = 0; i < plan.length; i++) plan[i].execute(); }
}
export function main() {
  const vars = [];
  for (let i = 0; i < 200; i++) vars.push(new Variable(i));
  for (let i = 0; i + 1 < vars.length; i++) new Scale(vars[i], vars[i + 1], 0.5);
  const planner = new Planner();
  let sum = 0;
  for (let r = 1; r < 60; r++) {
    vars[0].value = r;
    const plan = planner.plan(vars[0], r);
    for (let k = 0; k < 5; k++) planner.execute(plan);
    sum += vars[199].value;
  }
  return sum;
}
