$own.module(() => {});function old() { return arguments[0].add(1); }
let seen;
function keeps() { seen = arguments[0]; }
export function f(x) {let $1, $1_;try{ seen = $own.share(x); return $own.tail(old($own.ask(old, ($1 = $own.own($own.call($own.fnOn($1_ = x.neg, "x.neg", x), x), $1_)))), old); }finally{$own.drop($1);}/*$own*/}

import * as $own from "ext:mlrun/ownership.js";