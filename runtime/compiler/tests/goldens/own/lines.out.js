"use strict"
$own.module(() => {});export function f(o, x) {let $0a, $1, $1_, $2_;try{
  const a = ($0a = $own.record({ x }))
  o.p = $own.store(o, "p", x)
  o.q = $own.store(o, "q", ($1 = $own.own($own.call($1_ = x.add, x, $own.askOn($1_, 1, "x.add", x)), $1_)));$1 = $own.drop($1);;
  (($1_ = o.r) == null ? void 0 : $own.ignore($own.call($2_ = $1_, o, $own.askFetched($2_, x, "o.r", o)), $2_))
  const b = function () {/*$own*/}
  o.s = $own.store(o, "s", x)
  if (x) o.t = $own.store(o, "t", x)
  o.u = $own.store(o, "u", a);$0a = $own.drop($0a);;
  ($own.share(o), o.v`${$own.share(x)}`)
  return b
}finally{$own.drop($0a);$own.drop($1);}/*$own*/}
export function g(o) {
  "use strict";let $1_, $2_;
  ;(($1_ = o.p) == null ? void 0 : $own.ignore($own.call($2_ = $1_, o, $own.askFetched($2_, o, "o.p", o)), $2_))
  o.q = $own.store(o, "q", o)
/*$own*/}
export function h(o, x) {let $0y, $0z, $1_;try{
  let y = ($0y = $own.own($own.call($1_ = x.add, x, $own.askOn($1_, 1, "x.add", x)), $1_)), z
  if (o) z = ($0z = $own.put($own.record({ y }), $0z))
  $own.ignore($own.call($own.fnOn($1_ = y.sum, "y.sum", y), y), $1_);$0y = $own.drop($0y);
  if (x) return $own.give($own.record({ z }))
  $own.ignore($own.call($1_ = x.add, x, $own.askLast($1_, z, 2, "x.add", x)), $1_);$0z = $own.drop($0z);
}finally{$own.drop($0y);$own.drop($0z);}/*$own*/}

import * as $own from "ext:mlrun/ownership.js";