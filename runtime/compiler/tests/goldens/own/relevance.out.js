// What is left alone: nothing in it points at tensors, and nobody hands it one.
$own.module(() => {});import { randn } from "mlrun";

function parse(text) {
  const parts = [];
  for (const c of text) parts.push(code(c));
  return parts;
}

function code(c) {
  return c.charCodeAt(0);
}

class Cursor {
  constructor(at) {$own.made(this, new.target);
    this.at = $own.store(this, "at", at);
  /*$own*/}
  next(n) {
    this.at += n;
    return $own.lend(this);
  /*$own*/}
/*$own*/}

function keep(list, x) {let $1_;
  $own.ignore($own.call($1_ = list.push, list, $own.askOn($1_, x, "list.push", list)), $1_);
/*$own*/}

export function main() {let $0list, $1, $2, $3, $4, $5, $6, $1_, $2_, $3_, $4_;try{
  const list = ($0list = $own.lit([]));
  keep(list, ($1 = $own.own($own.call($1_ = randn, void 0, $own.askFetched($1_, [2], "randn")), $1_)));;$1 = $own.drop($1);
  return ($1 = $own.own($own.call($own.fnOn($1_ = ($2 = $own.own($own.call($own.fnOn($2_ = ($3 = $own.hold(list[0]), $0list = $own.drop($0list), $3).sum, "list[0].sum", $3), $3), $2_), $3 = $own.drop($3), $2).item, "list[0].sum(...).item", $2), $2), $1_), $2 = $own.drop($2), $1) + ($4 = $own.own(parse("text"), parse)).length + ($5 = $own.own($own.call($3_ = ($6 = $own.fresh(new Cursor($own.first($own.ask(Cursor, 1), $4_ = $own.birth(Cursor, void 0))), $4_)).next, $6, $own.askOn($3_, 2, "(intermediate value).next", $6)), $3_), $6 = $own.drop($6), $5).at;
}finally{$own.drop($0list);$own.drop($1);$own.drop($2);$own.drop($3);$own.drop($4);$own.drop($5);$own.drop($6);}/*$own*/}

import * as $own from "ext:mlrun/ownership.js";