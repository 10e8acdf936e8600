var Colour = /* @__PURE__ */ function(Colour) {
	Colour[Colour["Red"] = 0] = "Red";
	Colour[Colour["Green"] = 5] = "Green";
	Colour[Colour["Blue"] = 6] = "Blue";
	Colour["Name"] = "n";
	return Colour;
}(Colour || {});
let N;
(function(_N) {
	const a = _N.a = 1;
	function f(x) {
		return x + a;
	}
	_N.f = f;
})(N || (N = {}));
class P {
	x;
	y;
	constructor(x, y = 2) {
		this.x = x;
		this.y = y;
	}
	sum() {
		return this.x + this.y;
	}
}
console.log(Colour.Red, N.f(2), new P(1).sum());
