$own.module(() => {});export function train(w, n) {let $0g, $0h, $1_;try{
  let h = ($0h = $own.hold(w));
  for (let t = 0; t < n; t++) {
    const g = ($0g = $own.put($own.own($own.call($1_ = h.mul, h, $own.askOn($1_, 2, "h.mul", h)), $1_), $0g));
    if (t === 1) continue;
    h = ($0h = $own.put($own.own($own.call($1_ = h.sub, h, $own.askLast($1_, g, 3, "h.sub", h)), $1_), $0h), $0g = $own.drop($0g), $0h);;$0g = $own.drop($0g);
  }$0g = $own.drop($0g);
  return $own.give(h, $0h = void 0);
}finally{$own.drop($0g);$own.drop($0h);}/*$own*/}

import * as $own from "ext:mlrun/ownership.js";