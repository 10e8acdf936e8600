var $0w, $1_;$own.module(() => {});let w = ($0w = $own.own($own.call($own.fn($1_ = make, "make"), void 0), $1_));
export const step = () => {let $1, $2, $3, $1_, $2_;try{ w = ($0w = $own.put($own.own($own.call($1_ = ($1 = $own.hold(w)).sub, $1, $own.askLast($1_, ($2 = $own.own($own.call($2_ = ($3 = $own.hold(w)).mul, $3, $own.askLast($2_, 0.1, 1, "w.mul", $3)), $2_), $3 = $own.drop($3), $2), 3, "w.sub", $1)), $1_), $0w), $1 = $own.drop($1), $2 = $own.drop($2), $0w); }finally{$own.drop($1);$own.drop($2);$own.drop($3);}/*$own*/};

import * as $own from "ext:mlrun/ownership.js";