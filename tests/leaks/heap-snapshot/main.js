// A heap snapshot has tensors with the size of their memory.
import { heapSnapshot, ones } from "mlrun";

const model = { weight: ones([1000, 1000]) };
const view = model.weight.narrow(0, 0, 10);
heapSnapshot("heap.json");
const { default: { snapshot, nodes, edges, strings } } = await import("./heap.json", { with: { type: "json" } });
const { node_fields, edge_fields, node_types, edge_types } = snapshot.meta;
const N = node_fields.length, E = edge_fields.length;
console.log("counts", nodes.length === snapshot.node_count * N, edges.length === snapshot.edge_count * E);
const at = (fields, name) => fields.indexOf(name);
const first = [];
let sum = 0;
for (let n = 0; n < nodes.length; n += N) {
  first.push(sum);
  sum += nodes[n + at(node_fields, "edge_count")];
}
console.log("edges add up", sum === snapshot.edge_count);
const name = (n) => strings[nodes[n + at(node_fields, "name")]];
const kind = (n) => node_types[0][nodes[n + at(node_fields, "type")]];
const native = [];
for (let n = 0; n < nodes.length; n += N) {
  if (kind(n) === "native" && name(n).startsWith("float32")) native.push(n);
}
for (const n of native) console.log(name(n), nodes[n + at(node_fields, "self_size")]);
let holders = 0;
for (let n = 0; n < nodes.length; n += N) {
  const from = first[n / N], to = from + nodes[n + at(node_fields, "edge_count")];
  for (let e = from; e < to; e++) {
    if (edges[e * E + at(edge_fields, "to_node")] !== native[0]) continue;
    holders++;
    console.log(name(n), edge_types[0][edges[e * E]], strings[edges[e * E + 1]]);
  }
}
console.log(holders, view.shape, model.weight.shape, strings.some((s) => s.includes("list of live")) ? "the list is reachable by name only" : "");
for (const wrong of [() => heapSnapshot(), () => heapSnapshot("no/such/folder/x.heapsnapshot")]) {
  try {
    wrong();
  } catch (e) {
    console.log(`${e.name}: ${e.message}`);
  }
}
