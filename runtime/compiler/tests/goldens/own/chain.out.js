$own.module(() => {});export const f = (x, w) => {let $1, $2, $1_, $2_, $3_;try{return $own.tail($own.call($own.fnLast($1_ = ($1 = $own.own($own.call($2_ = ($2 = $own.own($own.call($3_ = x.matmul, x, $own.askOn($3_, w, "x.matmul", x)), $3_)).add, $2, $own.askLast($2_, 1, 1, "x.matmul(...).add", $2)), $2_), $2 = $own.drop($2), $1).relu, "x.matmul(...).add(...).relu", $1), $1), $1_)}finally{$own.drop($1);$own.drop($2);}/*$own*/};
export function g(x) {let $0a, $0b, $1_;try{
  const a = ($0a = $own.own($own.call($own.fnOn($1_ = x.exp, "x.exp", x), x), $1_));
  const b = ($0b = $own.own($own.call($own.fnOn($1_ = a.sum, "a.sum", a), a), $1_), $0a = $own.drop($0a), $0b);;$0a = $own.drop($0a);
  $own.ignore($own.call($own.fnOn($1_ = x.neg, "x.neg", x), x), $1_);
  return $own.give(b, $0b = void 0);
}finally{$own.drop($0a);$own.drop($0b);}/*$own*/}

import * as $own from "ext:mlrun/ownership.js";