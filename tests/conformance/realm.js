// What a test finds in its realm: `print`, `$262`, and the runtime half of the ownership pass.
//
// One function that the runner calls in each new realm. `host`: its native functions; `own`,
// `verify`: namespaces of js/00_ownership.js and js/00_verify.js where the test is compiled.
(function (host, own, verify, force) {
  const { global } = host;
  const define = (name, value) =>
    Object.defineProperty(global, name, { value, writable: true, enumerable: false, configurable: true });
  define("print", (text) => host.print(String(text)));
  define("$262", {
    global,
    createRealm: () => host.createRealm(),
    evalScript: (source) => host.evalScript(String(source)),
    detachArrayBuffer: (buffer) => host.detach(buffer),
    gc: () => host.gc(),
    agent: { start() { throw new Error("there are no agents"); } },
  });
  const kept = modulesAndTimers(host);
  if (own === undefined) return kept;
  const nothing = { has: () => false, get: () => undefined };
  own.configure({
    is: () => false, shared: () => true, share() {}, retain() {}, release() {}, drop: () => false,
    operations: nothing, lends: nothing, prototype: {}, isProxy: host.isProxy,
    born: undefined, dead: undefined, died: undefined,
    ...(force ? verify.watcher(host.report) : {}),
  });
  // As js/00_function_text.js does.
  const { apply } = Reflect;
  const written = Function.prototype.toString;
  const { toString } = {
    toString() {
      if (this === toString) return "function toString() { [native code] }";
      const text = apply(written, this, []);
      return host.written(text) ?? text;
    },
  };
  Object.defineProperty(Function.prototype, "toString", {
    value: toString, writable: true, enumerable: false, configurable: true,
  });
  return kept;

  /** `require`, and timers that run when nothing else is left to do. */
  function modulesAndTimers(host) {
    const timers = [];
    const modules = { __proto__: null };
    const requireFrom = (from) => (name) => {
      const path = host.resolve(name, from);
      if (modules[path] !== undefined) return modules[path].exports;
      const module = (modules[path] = { exports: {}, id: path, filename: path });
      if (host.isModule(path)) {
        module.exports = host.module(path);
      } else if (path.endsWith(".json")) {
        module.exports = JSON.parse(host.read(path));
      } else {
        const f = host.commonJs(path);
        const folder = path.slice(0, path.lastIndexOf("/"));
        Reflect.apply(f, module.exports, [module.exports, requireFrom(path), module, path, folder]);
      }
      return module.exports;
    };
    return {
      require: (path) => requireFrom(path)(path),
      main: (path) => requireFrom(path)(path),
      later: (f) => void timers.push(f),
      tick() {
        const f = timers.shift();
        if (f !== undefined) f();
        return f !== undefined;
      },
    };
  }
});
