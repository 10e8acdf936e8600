function old() { return arguments[0].add(1); }
let seen;
function keeps() { seen = arguments[0]; }
export function f(x) { seen = x; return old(x.neg()); }
