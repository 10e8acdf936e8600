const a = 1
;              
 [1].map(x => x)
let b = a;    
(0, console).log(b)
let c;  
[b] = [2]
class P {
  x = 1
  ;                
  ['z']() {}
}
function g() {
  return (  
    b)
}
const o = () => (       {})
