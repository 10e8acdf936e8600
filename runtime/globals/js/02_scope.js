// The names on `globalThis`, with the property attributes that browsers, Deno and Node agree on:
// interfaces are writable, configurable and not enumerable; functions are enumerable.
//
// Scripts that nearly every program needs are evaluated in the snapshot. The rest is loaded when
// its name is first read.

import { core } from "ext:core/mod.js";
import { op_mlrun_write } from "ext:core/ops";
import { process } from "ext:mlrun_globals/01_process.js";

const { propNonEnumerable, propNonEnumerableLazyLoaded, propWritable, loadExtScript } = core;

const { Console, setNoColorFns } = loadExtScript("ext:deno_web/01_console.js");
const { DOMException, QuotaExceededError } = loadExtScript("ext:deno_web/01_dom_exception.js");
const url = loadExtScript("ext:deno_web/00_url.js");
const event = loadExtScript("ext:deno_web/02_event.js");
const timers = loadExtScript("ext:deno_web/02_timers.js");
const abort = loadExtScript("ext:deno_web/03_abort_signal.js");
const { Window } = loadExtScript("ext:deno_web/04_global_interfaces.js");
const base64 = loadExtScript("ext:deno_web/05_base64.js");
const encoding = loadExtScript("ext:deno_web/08_text_encoding.js");
const messages = loadExtScript("ext:deno_web/13_message_port.js");
const performance = loadExtScript("ext:deno_web/15_performance.js");

function interfaces(names, script) {
  const load = () => loadExtScript(script);
  const properties = {};
  for (const name of names) {
    properties[name] = propNonEnumerableLazyLoaded((exports) => exports[name], load);
  }
  return properties;
}

const scope = {
  AbortController: propNonEnumerable(abort.AbortController),
  AbortSignal: propNonEnumerable(abort.AbortSignal),
  CloseEvent: propNonEnumerable(event.CloseEvent),
  CustomEvent: propNonEnumerable(event.CustomEvent),
  DOMException: propNonEnumerable(DOMException),
  ErrorEvent: propNonEnumerable(event.ErrorEvent),
  Event: propNonEnumerable(event.Event),
  EventTarget: propNonEnumerable(event.EventTarget),
  MessageChannel: propNonEnumerable(messages.MessageChannel),
  MessageEvent: propNonEnumerable(event.MessageEvent),
  MessagePort: propNonEnumerable(messages.MessagePort),
  Performance: propNonEnumerable(performance.Performance),
  PerformanceEntry: propNonEnumerable(performance.PerformanceEntry),
  PerformanceMark: propNonEnumerable(performance.PerformanceMark),
  PerformanceMeasure: propNonEnumerable(performance.PerformanceMeasure),
  PerformanceObserver: propNonEnumerable(performance.PerformanceObserver),
  PerformanceObserverEntryList: propNonEnumerable(performance.PerformanceObserverEntryList),
  ProgressEvent: propNonEnumerable(event.ProgressEvent),
  PromiseRejectionEvent: propNonEnumerable(event.PromiseRejectionEvent),
  QuotaExceededError: propNonEnumerable(QuotaExceededError),
  TextDecoder: propNonEnumerable(encoding.TextDecoder),
  TextDecoderStream: propNonEnumerable(encoding.TextDecoderStream),
  TextEncoder: propNonEnumerable(encoding.TextEncoder),
  TextEncoderStream: propNonEnumerable(encoding.TextEncoderStream),
  URL: propNonEnumerable(url.URL),
  URLSearchParams: propNonEnumerable(url.URLSearchParams),
  Window: propNonEnumerable(Window),
  atob: propWritable(base64.atob),
  btoa: propWritable(base64.btoa),
  clearInterval: propWritable(timers.clearInterval),
  clearTimeout: propWritable(timers.clearTimeout),
  console: propNonEnumerable(
    new Console((text, level) => op_mlrun_write(level > 1 ? 2 : 1, text)),
  ),
  performance: propWritable(performance.performance),
  process: propNonEnumerable(process),
  reportError: propWritable(event.reportError),
  setInterval: propWritable(timers.setInterval),
  setTimeout: propWritable(timers.setTimeout),
  structuredClone: propWritable(messages.structuredClone),
  ...interfaces(["Blob", "File"], "ext:deno_web/09_file.js"),
  ...interfaces(["BroadcastChannel"], "ext:deno_web/01_broadcast_channel.js"),
  ...interfaces(["CompressionStream", "DecompressionStream"], "ext:deno_web/14_compression.js"),
  ...interfaces(["FileReader"], "ext:deno_web/10_filereader.js"),
  ...interfaces(["ImageData"], "ext:deno_web/16_image_data.js"),
  ...interfaces(["URLPattern"], "ext:deno_web/01_urlpattern.js"),
  ...interfaces([
    "ByteLengthQueuingStrategy",
    "CountQueuingStrategy",
    "ReadableByteStreamController",
    "ReadableStream",
    "ReadableStreamBYOBReader",
    "ReadableStreamBYOBRequest",
    "ReadableStreamDefaultController",
    "ReadableStreamDefaultReader",
    "TransformStream",
    "TransformStreamDefaultController",
    "WritableStream",
    "WritableStreamDefaultController",
    "WritableStreamDefaultWriter",
  ], "ext:deno_web/06_streams.js"),
};

export { event, performance, scope, setNoColorFns, Window };
