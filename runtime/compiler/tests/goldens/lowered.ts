enum Colour { Red, Green = 5, Blue, Name = "n" }
namespace N { export const a = 1; export function f(x: number) { return x + a; } }
class P { constructor(private readonly x: number, public y = 2) {} sum(): number { return this.x + this.y; } }
console.log(Colour.Red, N.f(2), new P(1).sum());
