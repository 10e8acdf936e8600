// What is on globalThis, and with which attributes.
const builtin = new Set(["globalThis", "Infinity", "NaN", "undefined", "eval"]);
const own = Object.getOwnPropertyNames(globalThis).filter((name) => !builtin.has(name)).sort();
const engine = /^(Object|Function|Array|Number|parse.*|is.*|Boolean|String|Symbol|Date|Promise|RegExp|.*Error|JSON|Math|Intl|ArrayBuffer|Atomics|(Ui|I)nt\d+(Clamped)?Array|Float\d+Array|Big.*|DataView|Map|Set|Weak.*|Proxy|Reflect|FinalizationRegistry|decodeURI.*|encodeURI.*|escape|unescape|SharedArrayBuffer|WebAssembly|Iterator|Temporal|.*DisposableStack)$/;
for (const name of own) {
  if (engine.test(name) && name !== "DOMException") continue;
  const property = Object.getOwnPropertyDescriptor(globalThis, name);
  const kind = "value" in property ? typeof property.value : "accessor";
  const flags = `${property.enumerable ? "e" : "-"}${property.configurable ? "c" : "-"}`;
  console.log(name, kind, flags, typeof globalThis[name]);
}
