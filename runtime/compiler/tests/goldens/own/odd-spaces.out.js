var $0y, $1, $1_;$own.module(() => {});import { randn } from "mlrun";
const f = (x) => {let $1_;return $own.tail($own.call($own.fnOn($1_ = x.relu, "x.relu", x), x), $1_)/*$own*/};
const y = ($0y = $own.took(f (($1 = $own.own($own.call($1_ = randn, void 0, $own.askFetched($1_, [2], "randn")), $1_)))), $1 = $own.drop($1), $0y);
$own.lose(f　/* 　 */(y));;$0y = $own.drop($0y);

import * as $own from "ext:mlrun/ownership.js";