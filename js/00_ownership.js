// The runtime half of the ownership pass: what compiled code and the library call. See DESIGN.md.
//
// Here is nothing but the list of names; each room says what it does.

export { compiled, module } from "ext:mlrun_tensor/00_own_known.js";
export {
  adopt, again, bare, borrowed, configure, drop, give, given, hold, leave, lend, lit, lose, put, record, share, strew, took,
} from "ext:mlrun_tensor/00_own_counts.js";
export {
  apart, arg, arrived, birth, compute, computed, copy, dflt, early, field, first, fresh, gone, guarded, heir, keyed, list, made, open, parent, parts, shareAll, spread, store, swap, tested,
} from "ext:mlrun_tensor/00_own_places.js";
export {
  askGen, askGenFetched, askGenMore, askGenOn, claim, collect, done, drive, enter, fnEach, fnGen, fnSteps, ownGen, pass, resume, resumed, ticket, ticketFor,
  token, yielded,
} from "ext:mlrun_tensor/00_own_steps.js";
export { askLast, askMore, askOn, askSeen, askSeenMore, askSet, askSpread, called, fnLast, fnOn, keeps } from "ext:mlrun_tensor/00_own_arrays.js";
export { collection, source } from "ext:mlrun_tensor/00_own_collections.js";
export { applied, ask, askCall, askFetched, call, fn, ignore, own, tail, target, view } from "ext:mlrun_tensor/00_own_calls.js";
