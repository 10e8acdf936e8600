$own.module(() => {});export class Cache {
  #steps = 0;
  constructor(k) { this.keys = $own.store(this, "keys", k); /*$own*/}
  append(k) {let $1, $2, $3, $1_;try{ this.keys = $own.store(this, "keys", ($1 = $own.own($own.call($1_ = join, void 0, $own.askFetched($1_, "join", ($2 = $own.lit([($3 = $own.hold(this.keys)), k]), $3 = $own.drop($3), $2))), $1_), $2 = $own.drop($2), $1));;$1 = $own.drop($1); this.#steps++; return $own.lend(($1 = $own.hold(this.keys))); }finally{$own.drop($1);$own.drop($2);$own.drop($3);}/*$own*/}
}
class Plain { constructor() {$own.made(this, new.target); this.t = $own.store(this, "t", null); /*$own*/} set(t) { this.t = $own.store(this, "t", t); /*$own*/} }
export const plain = new Plain();

import * as $own from "ext:mlrun/ownership.js";