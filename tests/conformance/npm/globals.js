// What tests of npm packages find in the global scope: a console, timers, mocha's and QUnit's ways to
// name tests. Each test prints a line `passed NAME` or `failed NAME: PROBLEM`.
{
  const show = (v) => (typeof v === "string" ? v : typeof v === "object" ? JSON.stringify(v) : String(v));
  const line = (...values) => print(values.map(show).join(" ").replace(/ in [\d.]+ (ms|secs)|\d+ms/g, ""));
  // The same numbers in every run.
  let seed = 1;
  Math.random = () => (seed = (seed * 16807) % 2147483647) / 2147483647;
  globalThis.global = globalThis;
  globalThis.console = { log: line, info: line, warn: line, error: line, group: line, groupEnd() {}, table() {} };
  let pending = "";
  globalThis.process = {
    argv: ["", ""], env: {}, platform: "linux", version: "v20", versions: { node: "20" }, cwd: () => "/", hrtime: () => [0, 0], on() {},
    exit(code) { line(`exit ${code}`); },
    nextTick: (f, ...args) => $host.later(() => f(...args)),
    stdout: {
      write(text) {
        pending += text;
        const lines = pending.split("\n");
        pending = lines.pop();
        for (const l of lines) line(l);
      },
    },
  };
  let timers = 0;
  const cleared = new Set();
  globalThis.setTimeout = (f, _, ...args) => {
    const id = ++timers;
    $host.later(() => {
      try {
        if (!cleared.has(id)) f(...args);
      } catch (e) {
        // The test that waits for it is not known, and those behind it shall still run.
        print(`failed in a timer: ${String(e?.message ?? e).split("\n")[0]}`);
      }
    });
    return id;
  };
  globalThis.clearTimeout = (id) => cleared.add(id);
  globalThis.setImmediate = (f, ...args) => setTimeout(f, 0, ...args);
  globalThis.setInterval = () => 0;
  globalThis.clearInterval = () => {};
  globalThis.performance = { now: () => 0 };

  const queue = [];
  let path = [];
  let hooks = [{ before: [], after: [], once: [] }];
  const describe = (name, body) => {
    path.push(name);
    hooks.push({ before: [], after: [], once: [] });
    try {
      body.call({ timeout() {}, slow() {} });
    } catch (e) {
      print(`failed ${path.join(" ")}: ${e}`);
    }
    hooks.pop();
    path.pop();
  };
  const it = (name, body) => {
    if (typeof body !== "function") return;
    const around = hooks.slice();
    queue.push({ name: [...path, name].join(" ").replace(/\s+/g, " "), body, around });
  };
  describe.skip = it.skip = () => {};
  describe.only = describe;
  it.only = it;
  it.each = describe.each = (rows) => (name, body) => {
    for (const row of rows) it(`${name} ${show(row)}`, () => (Array.isArray(row) ? body(...row) : body(row)));
  };
  const hook = (kind) => (f) => void hooks[hooks.length - 1][kind].push(f);
  Object.assign(globalThis, {
    describe, it, test: it, context: describe, suite: describe, specify: it,
    before: hook("once"), beforeAll: hook("once"), beforeEach: hook("before"), afterEach: hook("after"), after() {}, afterAll() {},
  });
  const run = async ({ name, body, around }) => {
    const own = { timeout() {}, slow() {}, skip() {} };
    try {
      for (const level of around) {
        for (const f of level.once.splice(0)) await f.call(own);
        for (const f of level.before) await f.call(own);
      }
      if (body.length > 0) await new Promise((done, fail) => body.call(own, (e) => (e ? fail(e) : done())));
      else await body.call(own);
      for (const level of around) for (const f of level.after) await f.call(own);
      print(`passed ${name}`);
    } catch (e) {
      print(`failed ${name}: ${String(e?.message ?? e).split("\n")[0]}`);
    }
  };
  $host.later(async () => {
    for (let i = 0; i < queue.length; i++) await run(queue[i]);
  });
}
