// QUnit, as far as lodash's tests call it.
const assert = require("assert");

const check = (name) => (...args) => assert[name](...args);
const made = () => {
  const waiting = [];
  return {
    waiting,
    ok: check("ok"), notOk: (v, m) => assert.ok(!v, m), equal: check("equal"), notEqual: check("notEqual"),
    strictEqual: check("strictEqual"), notStrictEqual: check("notStrictEqual"), deepEqual: check("deepEqual"),
    notDeepEqual: check("notDeepEqual"), raises: check("throws"), throws: check("throws"), expect() {}, skip() {},
    async() {
      let done;
      waiting.push(new Promise((f) => (done = f)));
      return done;
    },
  };
};
/** Fails after so many turns of the timers. */
const turns = (n) => new Promise((_, fail) => {
  const turn = () => (n-- > 0 ? setTimeout(turn) : fail(new Error("never done")));
  turn();
});
let module_ = "";
const QUnit = (exports.QUnit = {
  config: { excused: {}, asyncRetries: 0, hidepassed: true },
  urlParams: {},
  module: (name) => void (module_ = name),
  test: (name, body) => it(`${module_} ${name}`, async () => {
    const assert = made();
    body.call({}, assert);
    if (assert.waiting.length > 0) await Promise.race([Promise.all(assert.waiting), turns(500)]);
  }),
  load() {}, start() {}, stop() {}, done() {}, log() {}, testDone() {}, addEvent() {}, assert: {},
});
QUnit.skip = () => {};
module.exports = QUnit;
