// Sets up `globalThis` in the snapshot, and finishes at run time what must not be in it.

import { core, internals, primordials } from "ext:core/mod.js";
import { op_mlrun_use_colour, op_set_format_exception_callback } from "ext:core/ops";
import { event, performance, scope, setNoColorFns, Window } from "ext:mlrun_globals/02_scope.js";

const {
  ArrayPrototypePush,
  ErrorPrototype,
  ObjectDefineProperty,
  ObjectPrototypeIsPrototypeOf,
  ObjectSetPrototypeOf,
  ReflectApply,
  ReflectGetOwnPropertyDescriptor,
  SafeSet,
  SafeSetIterator,
  SetPrototypeAdd,
  SetPrototypeClear,
  SetPrototypeDelete,
} = primordials;

const { getDefaultInspectOptions, inspect, quoteString } = core.loadExtScript(
  "ext:deno_web/01_console.js",
);

core.defineGlobalProperties(globalThis, scope);
ObjectSetPrototypeOf(globalThis, Window.prototype);
ObjectDefineProperty(globalThis, "self", {
  __proto__: null,
  value: globalThis,
  writable: true,
  enumerable: true,
  configurable: true,
});
const webidl = core.loadExtScript("ext:deno_webidl/00_webidl.js");
const abort = core.loadExtScript("ext:deno_web/03_abort_signal.js");
const { clearTimeout, setTimeout } = core.loadExtScript("ext:deno_web/02_timers.js");
globalThis[webidl.brand] = webidl.brand;
event.setEventTargetData(globalThis);
event.saveGlobalThisReference(globalThis);
event.defineEventHandler(globalThis, "error");
event.defineEventHandler(globalThis, "unhandledrejection");

// Callbacks of extensions that are due once per isolate, after the fast ops are in place.
const starters = [];
internals.onStart = (callback) => {
  ArrayPrototypePush(starters, callback);
};

function onUnhandledRejection(promise, reason) {
  const rejection = new event.PromiseRejectionEvent("unhandledrejection", {
    cancelable: true,
    promise,
    reason,
  });
  globalThis.dispatchEvent(rejection);
  return rejection.defaultPrevented;
}

// Text of a thrown value that is not an Error. `null` leaves Errors to the native side.
function formatThrown(value) {
  if (ObjectPrototypeIsPrototypeOf(ErrorPrototype, value)) {
    return null;
  }
  const text = typeof value === "string"
    ? quoteString(value, getDefaultInspectOptions())
    : inspect(value);
  return `Uncaught ${text}`;
}

// Timers below this number are gone.
let cleared = 1;

// Signals of AbortSignal.timeout that are not due yet: their timers have no number.
const timed = new SafeSet();
const timeouts = ReflectGetOwnPropertyDescriptor(abort.AbortSignal, "timeout");
const { value: abortSignalTimeout } = timeouts;
timeouts.value = {
  timeout(_millis) {
    const signal = ReflectApply(abortSignalTimeout, this, arguments);
    SetPrototypeAdd(timed, signal);
    signal[abort.add](() => SetPrototypeDelete(timed, signal));
    return signal;
  },
}.timeout;
ObjectDefineProperty(abort.AbortSignal, "timeout", timeouts);

/** Takes the timers that a program left away. Their numbers are given in order. */
function clearTimers() {
  for (const signal of new SafeSetIterator(timed)) {
    if (signal[abort.timerId] !== null) core.cancelTimer(signal[abort.timerId]);
  }
  SetPrototypeClear(timed);
  const last = setTimeout(() => {}, 0);
  for (; cleared <= last; cleared++) clearTimeout(cleared);
  // Lists that were being worked on are looked at again; what joins them would wait for ever.
  core.ops.op_timer_schedule(1);
}

/** Gives what the host is to call when a program is at its end. */
function start() {
  delete globalThis.__mlrunStart;
  delete globalThis.__bootstrap;
  delete globalThis.Deno;
  // There because of a V8 flag, and not configurable; programs find gc() in the library.
  globalThis.gc = undefined;

  const noColour = (fd) => {
    let known;
    return () => known ??= !op_mlrun_use_colour(fd);
  };
  setNoColorFns(noColour(1), noColour(2));
  performance.setTimeOrigin();
  op_set_format_exception_callback(formatThrown);
  core.setReportExceptionCallback(event.reportException);
  core.setUnhandledPromiseRejectionHandler(onUnhandledRejection);

  if (starters.length > 0) {
    core.loadExtScript("ext:mlrun_globals/03_fast_ops.js");
    for (let i = 0; i < starters.length; i++) {
      starters[i]();
    }
  }
  return clearTimers;
}

ObjectDefineProperty(globalThis, "__mlrunStart", {
  __proto__: null,
  value: start,
  writable: true,
  enumerable: false,
  configurable: true,
});
