with (arguments[0]) { x = 010; }
if (module.parent) return;
var let_ = "\07", yield_ = 1; function f(a, a) { delete a; return arguments.callee; }
module.exports = async () => { await null; };
