var $0seen;$own.module(() => {});function old() {let $1_, $2_;$own.shareAll(arguments); return $own.tail($own.call($1_ = ($2_ = arguments[0]).add, $2_, $own.askFetched($1_, 1, "arguments[0].add")), $1_); /*$own*/}
let seen;
function keeps() {$own.shareAll(arguments); seen = ($0seen = $own.put($own.hold(arguments[0]), $0seen)); /*$own*/}
export function f(x) {let $1, $1_;try{ seen = ($0seen = $own.put($own.hold(x), $0seen)); return old(($1 = $own.own($own.call($own.fnOn($1_ = x.neg, "x.neg", x), x), $1_))); }finally{$own.drop($1);}/*$own*/}

import * as $own from "ext:mlrun/ownership.js";