"use strict"
export function f(o, x) {
  const a = { x }
  o.p = x
  o.q = x.add(1)
  o.r?.(x)
  const b = function () {}
  o.s = x
  if (x) o.t = x
  o.u = a
  o.v`${x}`
  return b
}
export function g(o) {
  "use strict"
  o.p?.(o)
  o.q = o
}
export function h(o, x) {
  let y = x.add(1), z
  if (o) z = { y }
  y.sum()
  if (x) return { z }
  x.add(z)
}
