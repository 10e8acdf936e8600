const a = 1
type T = number
;[1].map(x => x)
let b = a as T
(0, console).log(b)
let c: T
[b] = [2]
class P {
  x = 1
  declare y: number
  ['z']() {}
}
function g() {
  return <T>
    b
}
const o = () => <object>{}
