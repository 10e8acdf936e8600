// 10,000 chained additions, as JSON in nanoseconds an op; started by chain.py, or by hand.
//
//   mlrun benches/chain.js                   # every case
//   mlrun benches/chain.js "64 plain" 100    # one case, as many times; prints nothing
var $0blocks, $0g, $0n, $0name, $0only, $0result, $0run, $0times, $0x_2, $0y_1, $1, $2, $3, $4, $5, $6, $d1, $1_, $2_, $3_, $4_, $5_;$own.module(() => {});import { noGrad, ones, randn } from "mlrun";

const CALLS = 10_000, BLOCKS = 9;

function chain(x, y) {let $0x, $1_;$0x = $own.hold(x);try{
  for (let i = 0; i < CALLS; i++) x = ($0x = $own.put($own.own($own.call($1_ = x.add, x, $own.askLast($1_, y, 1, "x.add", x)), $1_), $0x));
  return $own.give(x, $0x = void 0);
}finally{$own.drop($0x);}/*$own*/}
const cases = {
  plain: (x, y) => {let $0x_1, $0y, $1_;$0x_1 = $own.hold(x);$0y = $own.hold(y);try{return $own.tail($own.call($1_ = noGrad, void 0, ($own.keeps($1_, false) && ($0x_1 = void 0, $0y = void 0), $own.askFetched($1_, () => {let $1, $2, $1_, $2_;try{return $own.tail($own.call($own.fnOn($1_ = ($1 = $own.own($own.call($2_ = ($2 = $own.took(chain(x, y))).index, $2, $own.askOn($2_, 0, "chain(...).index", $2)), $2_), $2 = $own.drop($2), $1).item, "chain(...).index(...).item", $1), $1), $1_)}finally{$own.drop($1);$own.drop($2);}/*$own*/}, "noGrad"))), $1_)}finally{$own.drop($0x_1);$own.drop($0y);}/*$own*/},
  recorded: (x, y) => {let $1, $2, $1_, $2_;try{return $own.tail($own.call($own.fnOn($1_ = ($1 = $own.own($own.call($2_ = ($2 = $own.took(chain(x, y))).index, $2, $own.askOn($2_, 0, "chain(...).index", $2)), $2_), $2 = $own.drop($2), $1).item, "chain(...).index(...).item", $1), $1), $1_)}finally{$own.drop($1);$own.drop($2);}/*$own*/},
  "forward and backward": (x, y, g) => {let $1, $1_;try{
    $own.ignore($own.call($1_ = ($1 = $own.took(chain(x, y))).backward, $1, $own.askOn($1_, g, "chain(...).backward", $1)), $1_);;$1 = $own.drop($1);
    x.grad = $own.store(x, "grad", null);
  }finally{$own.drop($1);}/*$own*/},
};

const median = (xs) => {let $1, $2, $1_;try{return $own.lend(($1 = $own.hold(($2 = $own.own($own.call($1_ = xs.sort, xs, $own.askOn($1_, (a, b) => (a - b/*$own*/), "xs.sort", xs)), $1_))[xs.length >> 1]), $2 = $own.drop($2), $1))}finally{$own.drop($1);$own.drop($2);}/*$own*/};
const [only, times] = $own.spread(($1 = $own.own($own.call($1_ = ($2_ = process.argv).slice, $2_, $own.askFetched($1_, 2, "process.argv.slice")), $1_)));;$0only = $own.hold(only);$0times = $own.hold(times);$1 = $own.drop($1);
const result = ($0result = $own.record({}));
for (const n of [1, 64, 1024]) {$0n = $own.put($own.hold(n), $0n);
  const x = ($0x_2 = $own.put($own.own($own.call($own.fnOn($1_ = ($1 = $own.own($own.call($2_ = randn, void 0, $own.askFetched($2_, ($2 = $own.lit([n])), "randn")), $2_), $2 = $own.drop($2), $1).requiresGrad_, "randn(...).requiresGrad_", $1), $1), $1_), $0x_2), $1 = $own.drop($1), $0x_2), y = ($0y_1 = $own.put($own.own($own.call($1_ = randn, void 0, $own.askFetched($1_, ($3 = $own.lit([n])), "randn")), $1_), $0y_1), $3 = $own.drop($3), $0y_1), g = ($0g = $own.put($own.own($own.call($1_ = ones, void 0, $own.askFetched($1_, ($4 = $own.lit([n])), "ones")), $1_), $0g), $4 = $own.drop($4), $0g);
  for (const [name, run] of $d1 = $own.drive(($5 = $own.own($own.call($1_ = ($2_ = Object).entries, $2_, $own.askOn($1_, cases, "Object.entries", $2_)), $1_)), $1_, false)) {$0name = $own.put($own.hold(name), $0name);$0run = $own.put($own.hold(run), $0run);$own.yielded($d1);
    if (only !== undefined) {
      if (($1_ = only === `${n} ${name}`, $0name = $own.drop($0name), $1_)) for (let i = 0; i < $own.call($1_ = Number, void 0, $own.askFetched($1_, times, "Number")); i++) $own.ignore(run(x, y, $own.ask(run, g, x, y)), run);;$0name = $own.drop($0name);$0run = $own.drop($0run);
      continue;
    }
    const blocks = ($0blocks = $own.put($own.lit([]), $0blocks));
    for (let block = -2; block < BLOCKS; block++) {
      const start = performance.now();
      $own.ignore(run(x, y, $own.ask(run, g, x, y)), run);
      if (block >= 0) $own.ignore($own.call($1_ = blocks.push, blocks, $own.askOn($1_, (performance.now() - start) / CALLS * 1e6, "blocks.push", blocks)), $1_);
    }$0run = $own.drop($0run);
    result[$1_ = `${n} ${name}`] = $own.store(result, $1_, ($6 = $own.took(median(blocks)), $0blocks = $own.drop($0blocks), $6));;$0name = $own.drop($0name);$6 = $own.drop($6);$0blocks = $own.drop($0blocks);
  }$5 = $own.drop($5);$0n = $own.drop($0n);$0x_2 = $own.drop($0x_2);$0y_1 = $own.drop($0y_1);$0g = $own.drop($0g);$0name = $own.drop($0name);$0run = $own.drop($0run);$0blocks = $own.drop($0blocks);
}$0times = $own.drop($0times);$0n = $own.drop($0n);$0x_2 = $own.drop($0x_2);$0y_1 = $own.drop($0y_1);$0g = $own.drop($0g);$0name = $own.drop($0name);$0run = $own.drop($0run);$0blocks = $own.drop($0blocks);
if (($1_ = only === undefined, $0only = $own.drop($0only), $1_)) {$own.call($2_ = ($3_ = console).log, $3_, $own.askFetched($2_, $own.call($4_ = ($5_ = JSON).stringify, $5_, $own.askFetched($4_, result, "JSON.stringify")), "console.log"));;$0result = $own.drop($0result);};$0only = $own.drop($0only);$0result = $own.drop($0result);

import * as $own from "ext:mlrun/ownership.js";
//# sourceMappingURL=chain.js.out.js.map
