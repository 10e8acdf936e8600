"use strict"
$own.module(() => {});export function f(o, x) {let $0a, $1, $1_;try{
  const a = ($0a = $own.lit({ x }))
  o.p = $own.store(o, "p", x)
  o.q = $own.store(o, "q", ($1 = $own.own($own.call($1_ = x.add, x, $own.askOn($1_, 1, "x.add", x)), $1_)));$1 = $own.drop($1);
  $own.share(o).r?.($own.share(x))
  const b = function () {/*$own*/}
  o.s = $own.store(o, "s", x)
  if (x) o.t = $own.store(o, "t", x)
  o.u = $own.store(o, "u", a);$0a = $own.drop($0a);;
  ($own.share(o), o.v`${$own.share(x)}`)
  return b
}finally{$own.drop($0a);$own.drop($1);}/*$own*/}
export function g(o) {
  "use strict"
  $own.share(o).p?.($own.share(o))
  o.q = $own.store(o, "q", o)
/*$own*/}

import * as $own from "ext:mlrun/ownership.js";