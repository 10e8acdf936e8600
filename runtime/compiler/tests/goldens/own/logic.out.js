$own.module(() => {});export const pick = (t, flag) => {let $1_;return (flag ? $own.tail($own.call($own.fnOn($1_ = t.relu, "t.relu", t), t), $1_) : $own.lend(t))/*$own*/};
export function logic(a, b, i) {let $0y, $0z, $1, $1_;try{
  const y = i % 2 ? ($0y = $own.own($own.call($1_ = a.add, a, $own.askOn($1_, 1, "a.add", a)), $1_)) : ($0y = $own.hold(a));
  const z = (i % 3 && ($0z = $own.put($own.own($own.call($1_ = y.mul, y, $own.askOn($1_, 2, "y.mul", y)), $1_), $0z))) || ($0z = $own.hold(y));;$0y = $own.drop($0y);
  return $own.lend((b == null ? void 0 : ($1 = $own.own($own.call($1_ = b.add, b, $own.askOn($1_, z, "b?.add", b)), $1_)))) ?? $own.give(z, $0z = void 0);
}finally{$own.drop($0y);$own.drop($0z);$own.drop($1);}/*$own*/}

import * as $own from "ext:mlrun/ownership.js";