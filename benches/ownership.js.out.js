// What the ownership pass costs: a chain of ten ops on small tensors, released by the pass or by
// hand. Run both in turn, several times, and compare the medians:
//
//   mlrun benches/ownership.js                        # temporaries go by the pass
//   mlrun --no-ownership benches/ownership.js hand    # the same, with dispose() placed by hand
//
// Prints ns per op and how many tensors who released. `ownership.py` does the same in processor time.
var $0released, $1, $2, $3, $1_, $2_, $3_, $4_;$own.module(() => {});import { memoryStats, randn } from "mlrun";

const hand = process.argv[2] === "hand";
const x = $own.own($own.call($1_ = randn, void 0, $own.askFetched($1_, [16], "randn")), $1_);

const byPass = (x) => {let $1, $2, $3, $4, $5, $6, $7, $8, $9, $1_, $2_, $3_, $4_, $5_, $6_, $7_, $8_, $9_, $10_;try{return $own.tail($own.call($own.fnLast($1_ = ($1 = $own.own($own.call($2_ = ($2 = $own.own($own.call($own.fnLast($3_ = ($3 = $own.own($own.call($4_ = ($4 = $own.own($own.call($5_ = ($5 = $own.own($own.call($own.fnLast($6_ = ($6 = $own.own($own.call($own.fnLast($7_ = ($7 = $own.own($own.call($8_ = ($8 = $own.own($own.call($9_ = ($9 = $own.own($own.call($10_ = x.add, x, $own.askOn($10_, 1, "x.add", x)), $10_)).mul, $9, $own.askLast($9_, 2, 1, "x.add(...).mul", $9)), $9_), $9 = $own.drop($9), $8).sub, $8, $own.askLast($8_, x, 1, "x.add(...).mul(...).sub", $8)), $8_), $8 = $own.drop($8), $7).neg, "x.add(...).mul(...).sub(...).neg", $7), $7), $7_), $7 = $own.drop($7), $6).relu, "x.add(...).mul(...).sub(...).neg(...).relu", $6), $6), $6_), $6 = $own.drop($6), $5).add, $5, $own.askLast($5_, x, 1, "x.add(...).mul(...).sub(...).neg(...).relu(...).add", $5)), $5_), $5 = $own.drop($5), $4).mul, $4, $own.askLast($4_, x, 1, "x.add(...).mul(...).sub(...).neg(...).relu(...).add(...).mul", $4)), $4_), $4 = $own.drop($4), $3).exp, "x.add(...).mul(...).sub(...).neg(...).relu(...).add(...).mul(...).exp", $3), $3), $3_), $3 = $own.drop($3), $2).sub, $2, $own.askLast($2_, 1, 1, "x.add(...).mul(...).sub(...).neg(...).relu(...).add(...).mul(...).exp(...).sub", $2)), $2_), $2 = $own.drop($2), $1).abs, "x.add(...).mul(...).sub(...).neg(...).relu(...).add(...).mul(...).exp(...).sub(...).abs", $1), $1), $1_)}finally{$own.drop($1);$own.drop($2);$own.drop($3);$own.drop($4);$own.drop($5);$own.drop($6);$own.drop($7);$own.drop($8);$own.drop($9);}/*$own*/};

function byHand(x) {let $0a, $0b, $0c, $0d, $0e, $0f, $0g, $0h, $0i, $0j, $1_;try{
  const a = ($0a = $own.own($own.call($1_ = x.add, x, $own.askOn($1_, 1, "x.add", x)), $1_));
  const b = ($0b = $own.own($own.call($1_ = a.mul, a, $own.askOn($1_, 2, "a.mul", a)), $1_));
  $own.ignore($own.call($own.fnOn($1_ = a.dispose, "a.dispose", a), a), $1_);;$0a = $own.drop($0a);
  const c = ($0c = $own.own($own.call($1_ = b.sub, b, $own.askOn($1_, x, "b.sub", b)), $1_));
  $own.ignore($own.call($own.fnOn($1_ = b.dispose, "b.dispose", b), b), $1_);;$0b = $own.drop($0b);
  const d = ($0d = $own.own($own.call($own.fnOn($1_ = c.neg, "c.neg", c), c), $1_));
  $own.ignore($own.call($own.fnOn($1_ = c.dispose, "c.dispose", c), c), $1_);;$0c = $own.drop($0c);
  const e = ($0e = $own.own($own.call($own.fnOn($1_ = d.relu, "d.relu", d), d), $1_));
  $own.ignore($own.call($own.fnOn($1_ = d.dispose, "d.dispose", d), d), $1_);;$0d = $own.drop($0d);
  const f = ($0f = $own.own($own.call($1_ = e.add, e, $own.askOn($1_, x, "e.add", e)), $1_));
  $own.ignore($own.call($own.fnOn($1_ = e.dispose, "e.dispose", e), e), $1_);;$0e = $own.drop($0e);
  const g = ($0g = $own.own($own.call($1_ = f.mul, f, $own.askOn($1_, x, "f.mul", f)), $1_));
  $own.ignore($own.call($own.fnOn($1_ = f.dispose, "f.dispose", f), f), $1_);;$0f = $own.drop($0f);
  const h = ($0h = $own.own($own.call($own.fnOn($1_ = g.exp, "g.exp", g), g), $1_));
  $own.ignore($own.call($own.fnOn($1_ = g.dispose, "g.dispose", g), g), $1_);;$0g = $own.drop($0g);
  const i = ($0i = $own.own($own.call($1_ = h.sub, h, $own.askOn($1_, 1, "h.sub", h)), $1_));
  $own.ignore($own.call($own.fnOn($1_ = h.dispose, "h.dispose", h), h), $1_);;$0h = $own.drop($0h);
  const j = ($0j = $own.own($own.call($own.fnOn($1_ = i.abs, "i.abs", i), i), $1_));
  $own.ignore($own.call($own.fnOn($1_ = i.dispose, "i.dispose", i), i), $1_);;$0i = $own.drop($0i);
  return $own.give(j, $0j = void 0);
}finally{$own.drop($0a);$own.drop($0b);$own.drop($0c);$own.drop($0d);$own.drop($0e);$own.drop($0f);$own.drop($0g);$own.drop($0h);$own.drop($0i);$own.drop($0j);}/*$own*/}

function run(turns) {let $1, $1_;try{
  if (hand) for (let i = 0; i < turns; i++) {$own.ignore($own.call($own.fnOn($1_ = ($1 = $own.took(byHand(x))).dispose, "byHand(...).dispose", $1), $1), $1_);;$1 = $own.drop($1);}
  else for (let i = 0; i < turns; i++) $own.lose(byPass(x));
}finally{$own.drop($1);}/*$own*/}

const turns = $own.call($1_ = Number, void 0, $own.askFetched($1_, ($1 = $own.hold(process.argv[3])) ?? ($1 = $own.hold(0)), "Number"));;$1 = $own.drop($1);
if (turns > 0) {
  run(turns);
} else {
  run(20_000);
  const blocks = [];
  for (let k = 0; k < 15; k++) {
    const start = performance.now();
    run(10_000);
    $own.ignore($own.call($1_ = ($2_ = blocks).push, $2_, $own.askFetched($1_, ((performance.now() - start) * 1e6) / 100_000, "blocks.push")), $1_);
  }
  blocks.sort((a, b) => (a - b/*$own*/));
  const { released } = $own.apart(($1 = $own.own($own.call($own.fn($1_ = memoryStats, "memoryStats"), void 0), $1_)), "memoryStats(...)", "released");;$0released = $own.hold(released);$1 = $own.drop($1);
  $own.call($1_ = ($2_ = console).log, $2_, 
    `${hand ? "by hand" : "by the pass"}: ${($1 = $own.own($own.call($3_ = ($2 = $own.hold(blocks[7])).toFixed, $2, $own.askOn($3_, 1, "blocks[7].toFixed", $2)), $3_), $2 = $own.drop($2), $1)} ns per op, best ${$own.call($4_ = ($3 = $own.hold(blocks[0])).toFixed, $3, $own.askSeen($4_, 1, "blocks[0].toFixed", $3))};`,
    $own.askFetched($1_, `pass ${released.byPass.tensors}, dispose ${released.byDispose.tensors}, collector ${
      released.byMinorGC.tensors + released.byMajorGC.tensors
    }`, "console.log"),
  );;$1 = $own.drop($1);$3 = $own.drop($3);$0released = $own.drop($0released);
}$0released = $own.drop($0released);

import * as $own from "ext:mlrun/ownership.js";
//# sourceMappingURL=ownership.js.out.js.map
