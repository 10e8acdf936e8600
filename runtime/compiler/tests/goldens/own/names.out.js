$_own.module(() => {});const $own = 1, $1 = (x) => {let $_1_;return $_own.tail($_own.call($_1_ = x.add, x, $_own.askOn($_1_, $own, "x.add", x)), $_1_)/*$own*/};
export default $1;

import * as $_own from "ext:mlrun/ownership.js";