$own.module(() => {});export async function task(x, n) {let $t=$own.enter();let $0acc, $0n, $0x, $1, $1_, $2_, $3_;$0x = $own.hold(x);$0n = $own.hold(n);$own.hold(this);try{
  let acc = ($0acc = $own.hold(x));;$0x = $own.drop($0x);
  for (let i = 0; i < n; i++) acc = ($0acc = $own.put($own.own($own.call($1_ = acc.add, acc, $own.askLast($1_, ($1 = $own.claim(await $own.call($3_ = next, void 0, $own.ticket($2_ = $own.token(), $3_, $own.askFetched($3_, i, "next"))), $2_)), 3, "acc.add", acc)), $1_), $0acc), $1 = $own.drop($1), $0acc);;$0n = $own.drop($0n);
  return $own.done($t, acc, $0acc = void 0);
}finally{$own.drop($0acc);$own.drop($0n);$own.drop($0x);$own.drop($1);}/*$own!*/}
export function* batches(x, n) {let $t=$own.resume();let $1, $1_;try{
  for (let i = 0; i < n; i++) {$own.resumed(yield $own.done($t, ($1 = $own.own($own.call($1_ = x.narrow, x, 0, i, $own.askMore($1_, 1, "x.narrow", x)), $1_)), $1 = void 0), $t = $own.resume());;$1 = $own.drop($1);}
}finally{$own.drop($1);}/*$own~*/}

import * as $own from "ext:mlrun/ownership.js";