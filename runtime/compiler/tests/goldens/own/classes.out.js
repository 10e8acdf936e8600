var $1_;$own.module(() => {});export class Cache {
  #steps = 0;
  constructor(k) {$own.made(this, new.target); this.keys = $own.store(this, "keys", k); /*$own*/}
  append(k) {let $1, $2, $1_;try{ this.keys = $own.store(this, "keys", $own.call($1_ = join, void 0, $own.askFetched($1_, ($1 = $own.lit([($2 = $own.hold(this.keys)), k]), $2 = $own.drop($2), $1), "join")));;$1 = $own.drop($1); this.#steps++; return $own.lend(($1 = $own.hold(this.keys))); }finally{$own.drop($1);$own.drop($2);}/*$own*/}
/*$own*/}
class Plain { constructor() {$own.made(this, new.target); this.t = $own.store(this, "t", null); /*$own*/} set(t) { this.t = $own.store(this, "t", t); /*$own*/} /*$own*/}
export const plain = $own.fresh(new ($own.first(Plain, $1_ = $own.birth(Plain, "Plain")))(), $1_);

import * as $own from "ext:mlrun/ownership.js";