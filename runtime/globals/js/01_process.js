// The global `process`, as far as scripts for training need it. Same names and property
// attributes as in Node. Deliberately not here: standard input, signals, child processes.

import { core, primordials } from "ext:core/mod.js";
import {
  op_mlrun_argv,
  op_mlrun_columns,
  op_mlrun_cpu,
  op_mlrun_cwd,
  op_mlrun_env,
  op_mlrun_exit,
  op_mlrun_exit_code,
  op_mlrun_hrtime,
  op_mlrun_is_terminal,
  op_mlrun_process_info,
  op_mlrun_rss,
  op_mlrun_set_exit_code,
  op_mlrun_uptime,
  op_mlrun_write,
  op_mlrun_write_bytes,
} from "ext:core/ops";

const {
  ArrayBufferIsView,
  ArrayIsArray,
  BigInt,
  Float64Array,
  Number,
  NumberIsInteger,
  ObjectDefineProperties,
  ObjectDefineProperty,
  Proxy,
  ReflectDefineProperty,
  String,
  SymbolToStringTag,
  TypeError,
  TypedArrayPrototypeGetBuffer,
  Uint8Array,
} = primordials;

// Values that are read once at run time, never in the snapshot.
function lazy(load) {
  let value;
  let loaded = false;
  return {
    get() {
      if (!loaded) {
        value = load();
        loaded = true;
      }
      return value;
    },
    set(next) {
      value = next;
      loaded = true;
    },
  };
}

const info = lazy(op_mlrun_process_info);

// The environment is read once. Assignments are strings, seen by the program, not by the
// process: changing a process's environment is not safe while other threads run.
function readEnv() {
  const pairs = op_mlrun_env();
  const env = { __proto__: null };
  for (let i = 0; i < pairs.length; i += 2) {
    env[pairs[i]] = pairs[i + 1];
  }
  return new Proxy(env, {
    set(target, name, value) {
      if (typeof name === "symbol") {
        throw new TypeError("process.env: a name must be a string, got a symbol");
      }
      target[name] = String(value);
      return true;
    },
    defineProperty(target, name, descriptor) {
      if ("value" in descriptor) {
        descriptor = { ...descriptor, value: String(descriptor.value) };
      }
      return ReflectDefineProperty(target, name, descriptor);
    },
  });
}

function exitCodeOf(code) {
  const number = typeof code === "string" && code !== "" ? Number(code) : code;
  if (!NumberIsInteger(number)) {
    throw new TypeError(
      `process.exit: the code must be an integer, got ${typeof code} ${String(code)}`,
    );
  }
  return number;
}

function exit(code) {
  if (code !== undefined && code !== null) {
    op_mlrun_set_exit_code(exitCodeOf(code));
  }
  op_mlrun_exit();
  // The isolate stops at the next back edge of a loop.
  for (;;);
}

function hrtime(previous) {
  const now = op_mlrun_hrtime();
  let seconds = Number(now / 1_000_000_000n);
  let nanos = Number(now % 1_000_000_000n);
  if (previous !== undefined) {
    if (!ArrayIsArray(previous) || previous.length !== 2) {
      throw new TypeError("process.hrtime: expected an earlier result, [seconds, nanoseconds]");
    }
    seconds -= previous[0];
    nanos -= previous[1];
    if (nanos < 0) {
      seconds -= 1;
      nanos += 1_000_000_000;
    }
  }
  return [seconds, nanos];
}
ObjectDefineProperty(hrtime, "bigint", {
  __proto__: null,
  value: function bigint() {
    return BigInt(op_mlrun_hrtime());
  },
  writable: true,
  enumerable: true,
  configurable: true,
});

function cpuUsage(name, thread, previous) {
  const times = new Float64Array(2);
  op_mlrun_cpu(thread, new Uint8Array(TypedArrayPrototypeGetBuffer(times)));
  const usage = { user: times[0], system: times[1] };
  if (previous !== undefined) {
    if (typeof previous?.user !== "number" || typeof previous.system !== "number") {
      throw new TypeError(`process.${name}: expected an earlier result, { user, system }`);
    }
    usage.user -= previous.user;
    usage.system -= previous.system;
  }
  return usage;
}

function outputStream(fd) {
  return {
    fd,
    writable: true,
    get isTTY() {
      return op_mlrun_is_terminal(fd);
    },
    // Width of the terminal; undefined where there is none, as in Node.
    get columns() {
      const columns = op_mlrun_columns(fd);
      return columns === 0 ? undefined : columns;
    },
    // Everything is written when this returns, so there is never a need to wait for "drain".
    write(chunk, encoding, callback) {
      if (typeof chunk === "string") {
        op_mlrun_write(fd, chunk);
      } else if (ArrayBufferIsView(chunk)) {
        op_mlrun_write_bytes(fd, chunk);
      } else {
        throw new TypeError(
          `write: expected a string or a typed array, got ${chunk === null ? "null" : typeof chunk}`,
        );
      }
      const done = typeof encoding === "function" ? encoding : callback;
      if (typeof done === "function") {
        core.queueMicrotask(() => done());
      }
      return true;
    },
  };
}

function accessor(get, set = undefined, enumerable = true) {
  return { __proto__: null, get, set, enumerable, configurable: true };
}

const argv = lazy(op_mlrun_argv);
const env = lazy(readEnv);

const process = {
  cpuUsage(previous) {
    return cpuUsage("cpuUsage", false, previous);
  },
  cwd() {
    return op_mlrun_cwd();
  },
  exit,
  hrtime,
  memoryUsage() {
    const { heapTotal, heapUsed, external } = core.memoryUsage();
    return { rss: op_mlrun_rss(), heapTotal, heapUsed, external };
  },
  stderr: outputStream(2),
  stdout: outputStream(1),
  threadCpuUsage(previous) {
    return cpuUsage("threadCpuUsage", true, previous);
  },
  uptime() {
    return op_mlrun_uptime();
  },
};

ObjectDefineProperties(process, {
  __proto__: null,
  arch: accessor(() => info.get()[2]),
  argv: accessor(argv.get, argv.set),
  argv0: accessor(() => info.get()[0]),
  env: accessor(env.get, env.set),
  execPath: accessor(() => info.get()[0]),
  exitCode: accessor(
    () => op_mlrun_exit_code(),
    (code) => op_mlrun_set_exit_code(code === undefined || code === null ? 0 : exitCodeOf(code)),
  ),
  pid: accessor(() => Number(info.get()[3])),
  platform: accessor(() => info.get()[1]),
  versions: accessor(() => ({ mlrun: info.get()[4], v8: info.get()[5] })),
  [SymbolToStringTag]: {
    __proto__: null,
    value: "process",
    writable: false,
    enumerable: false,
    configurable: true,
  },
});

export { process };
