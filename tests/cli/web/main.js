const url = new URL("../b?x=1#h", "https://example.com/a/c");
url.searchParams.append("y", "é");
console.log(url.href, URL.canParse("nope"));
console.log(new TextDecoder().decode(new TextEncoder().encode("h€llo")));
const original = { date: new Date(0), map: new Map([[1, { deep: [1, 2] }]]), buffer: new Uint8Array([1, 2]) };
const copy = structuredClone(original);
console.log(copy.map.get(1) !== original.map.get(1), copy.map.get(1).deep, copy.buffer);
try {
  structuredClone(() => {});
} catch (error) {
  console.log(error.name, error instanceof DOMException);
}
const controller = new AbortController();
controller.signal.addEventListener("abort", (event) => console.log(event.type, controller.signal.reason.name));
controller.abort();
console.log(AbortSignal.timeout(1) instanceof AbortSignal, atob(btoa("abc")));
console.log(performance.now() > 0, performance.timeOrigin > 1e12, performance.mark("m").name);
const order = [];
setTimeout(() => order.push("timeout"), 0);
queueMicrotask(() => order.push("microtask"));
const interval = setInterval(() => order.push("tick"), 2);
order.push("sync");
await new Promise((resolve) => setTimeout(resolve, 30));
clearInterval(interval);
console.log(order.slice(0, 4));
const blob = new Blob(["ab", new Uint8Array([99])], { type: "text/plain" });
console.log(blob.size, await blob.text());
const stream = new ReadableStream({
  start(controller) {
    controller.enqueue("chunk");
    controller.close();
  },
});
for await (const chunk of stream) console.log(chunk);
const compressed = new Blob(["x".repeat(1000)]).stream().pipeThrough(new CompressionStream("gzip"));
const text = await lengthOf(compressed.pipeThrough(new DecompressionStream("gzip")));
function lengthOf(stream) {
  return (async () => {
    let out = "";
    for await (const part of stream) out += new TextDecoder().decode(part);
    return out.length;
  })();
}
console.log(text);
const { port1, port2 } = new MessageChannel();
port2.onmessage = (event) => {
  console.log(event.data);
  port2.close();
};
port1.postMessage({ hello: "port" });
