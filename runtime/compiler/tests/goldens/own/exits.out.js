$own.module(() => {});export function f(x, when) {let $0y, $0z, $d1, $1_;try{
  const y = ($0y = $own.own($own.call($1_ = x.mul, x, $own.askOn($1_, 2, "x.mul", x)), $1_));
  try {
    if (when) throw new RangeError("boom");
    return ($d1 = $own.lend(y));
  } catch (e) {
    const z = ($0z = $own.own($own.call($1_ = y.add, y, $own.askLast($1_, 1, 1, "y.add", y)), $1_), $0y = $own.drop($0y), $0z);;$0y = $own.drop($0y);
    return ($d1 = $own.give(z, $0z = void 0));
  } finally {
    $own.ignore($own.call($own.fnOn($1_ = x.sum, "x.sum", x), x), $1_);
  }$0y = $own.drop($0y);$0z = $own.drop($0z);
}finally{$own.drop($0y);$own.drop($0z);$own.again($d1);}/*$own*/}

import * as $own from "ext:mlrun/ownership.js";