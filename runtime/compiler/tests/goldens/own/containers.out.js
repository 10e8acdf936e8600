$own.module(() => {});const both = (t) => {let $1, $2, $1_, $2_;try{return ($own.give($own.record({ up: ($1 = $own.own($own.call($1_ = t.add, t, $own.askOn($1_, 1, "t.add", t)), $1_)), down: ($2 = $own.own($own.call($2_ = t.sub, t, $own.askOn($2_, 1, "t.sub", t)), $2_)) })))}finally{$own.drop($1);$own.drop($2);}/*$own*/};
export function use(x, o) {let $0list, $0p, $0rest, $0up, $1, $2, $d1, $1_, $2_;try{
  const { up, ...rest } = $own.apart(($1 = $own.took(both(x))), "both(...)", "up");;$0up = $own.hold(up);$0rest = $own.lit(rest);$1 = $own.drop($1);
  const list = ($0list = $own.lit([up, ...$own.spread(($1 = $own.lit([x])), "[x] is not iterable")]), $1 = $own.drop($1), $0list);
  o.best ??= $own.store(o, "best", up);;$0up = $own.drop($0up);
  o[$1_ = x.size] = $own.store(o, $1_, ($2 = $own.hold(rest.down), $0rest = $own.drop($0rest), $2));;$2 = $own.drop($2);$0rest = $own.drop($0rest);
  for (const p of $d1 = $own.drive(($2 = $own.hold(list)), void 0, false, void 0, "list is not iterable")) {$0p = $own.put($own.hold(p), $0p);$own.yielded($d1);$own.ignore($own.call($own.fnOn($1_ = p.sum, "p.sum", p), p), $1_);;$0p = $own.drop($0p);};$2 = $own.drop($2);$0p = $own.drop($0p);
  $own.ignore($own.call($1_ = list.push, list, $own.askOn($1_, ($2 = $own.own($own.call($own.fnOn($2_ = x.neg, "x.neg", x), x), $2_)), "list.push", list)), $1_);;$2 = $own.drop($2);
  return $own.lend(($2 = $own.hold(list[0]), $0list = $own.drop($0list), $2));
}finally{$own.drop($0list);$own.drop($0p);$own.drop($0rest);$own.drop($0up);$own.drop($1);$own.drop($2);}/*$own*/}
export const update = (state, g) => {let $1, $2, $3, $4, $5, $1_;try{return ($own.give($own.lit({ ...$1 = $own.copy(state), w: ($2 = $own.own($own.call($1_ = ($3 = $own.hold(state.w)).sub, $3, $own.askLast($1_, g, 1, "state.w.sub", $3)), $1_), $3 = $own.drop($3), $2), all: ($4 = $own.lit([...$own.spread(($5 = $own.hold(state.all)), "state.all is not iterable"), g]), $5 = $own.drop($5), $4) })))}finally{$own.drop($1);$own.drop($2);$own.drop($3);$own.drop($4);$own.drop($5);}/*$own*/};

import * as $own from "ext:mlrun/ownership.js";