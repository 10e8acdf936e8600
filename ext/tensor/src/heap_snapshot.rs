//! V8's heap snapshot, in which tensors have the size of their memory, and who holds them.
//!
//! V8 knows nothing of tensor memory: each storage becomes a node of the kind "native" with an edge
//! from every `Tensor` on it. What only the tape or native code holds hangs on a node of its own.
//! Tensors are found by a list of them that stands in the heap while the snapshot is taken, and
//! that is cut from the result.

use std::collections::HashMap;
use std::rc::Rc;

use deno_core::serde::{Deserialize, Serialize};
use deno_core::serde_json::{self, Value};
use deno_core::v8;
use mlrun_tensor_core::HeapId;

use crate::state::TensorState;

/// A snapshot as V8 writes it.
#[derive(Deserialize, Serialize)]
#[serde(crate = "deno_core::serde")]
struct Document {
    snapshot: Header,
    nodes: Vec<u64>,
    edges: Vec<u64>,
    #[serde(default)]
    trace_function_infos: Vec<Value>,
    #[serde(default)]
    trace_tree: Vec<Value>,
    #[serde(default)]
    samples: Vec<Value>,
    #[serde(default)]
    locations: Vec<u64>,
    strings: Vec<String>,
}

#[derive(Deserialize, Serialize)]
#[serde(crate = "deno_core::serde")]
struct Header {
    meta: Meta,
    node_count: u64,
    edge_count: u64,
    #[serde(flatten)]
    rest: HashMap<String, Value>,
}

#[derive(Deserialize, Serialize)]
#[serde(crate = "deno_core::serde")]
struct Meta {
    node_fields: Vec<String>,
    node_types: Vec<Value>,
    edge_fields: Vec<String>,
    edge_types: Vec<Value>,
    #[serde(flatten)]
    rest: HashMap<String, Value>,
}

/// Positions of the fields of nodes and edges, and numbers of kinds.
struct Shape {
    node_len: usize,
    kind: usize,
    name: usize,
    id: usize,
    size: usize,
    edges: usize,
    native: u64,
    synthetic: u64,
    edge_len: usize,
    edge_kind: usize,
    edge_name: usize,
    to: usize,
    kinds: Vec<String>,
}

impl Shape {
    fn of(meta: &Meta) -> Option<Shape> {
        let at = |fields: &[String], name: &str| fields.iter().position(|field| field == name);
        let names = |types: &[Value], at: usize| -> Option<Vec<String>> {
            serde_json::from_value(types.get(at)?.clone()).ok()
        };
        let (nodes, edges) = (&meta.node_fields, &meta.edge_fields);
        let (kind, edge_kind) = (at(nodes, "type")?, at(edges, "type")?);
        let node_kinds = names(&meta.node_types, kind)?;
        let number = |kind: &str| Some(node_kinds.iter().position(|name| name == kind)? as u64);
        Some(Shape {
            node_len: nodes.len(),
            kind,
            name: at(nodes, "name")?,
            id: at(nodes, "id")?,
            size: at(nodes, "self_size")?,
            edges: at(nodes, "edge_count")?,
            native: number("native")?,
            synthetic: number("synthetic")?,
            edge_len: edges.len(),
            edge_kind,
            edge_name: at(edges, "name_or_index")?,
            to: at(edges, "to_node")?,
            kinds: names(&meta.edge_types, edge_kind)?,
        })
    }
}

/// A snapshot with the live handles of one heap in it.
pub struct HeapSnapshot {
    document: Document,
    shape: Shape,
    /// First edge of each node, and one after the last.
    first: Vec<usize>,
    /// Nodes of handles, in the order of the heap.
    tensors: Vec<(HeapId, usize)>,
    /// Nodes of the list that helped to find them.
    helpers: Vec<usize>,
}

const HELPER: &str = "mlrun: list of live tensors";

impl HeapSnapshot {
    /// Takes a snapshot. Handles that have no finalizer yet are missing: track them first.
    ///
    /// # Errors
    /// If V8's text is not what it was.
    pub fn take(scope: &mut v8::PinScope, state: &Rc<TensorState>) -> Result<HeapSnapshot, String> {
        let (ids, _held) = list(scope, state).ok_or("no memory for a list")?;
        let mut text = Vec::new();
        scope.take_heap_snapshot(|chunk| {
            text.extend_from_slice(chunk);
            true
        });
        let document = serde_json::from_slice(&text).map_err(|e| format!("V8's text: {e}"))?;
        HeapSnapshot::read(document, &ids).ok_or_else(|| "V8's text has a new form".to_owned())
    }

    fn read(document: Document, ids: &[HeapId]) -> Option<HeapSnapshot> {
        let shape = Shape::of(&document.snapshot.meta)?;
        let mut first = vec![0];
        for node in document.nodes.chunks_exact(shape.node_len) {
            first.push(first.last()? + node[shape.edges] as usize);
        }
        let mut read =
            HeapSnapshot { document, shape, first, tensors: Vec::new(), helpers: Vec::new() };
        let name = read.document.strings.iter().position(|text| text == HELPER)? as u64;
        let (holder, list) = (0..read.nodes()).find_map(|node| {
            let edge = read.edges_of(node).find(|e| e.name == name && e.kind == "property")?;
            Some((node, edge.to))
        })?;
        let found: HashMap<u64, usize> =
            read.edges_of(list).filter(|e| e.kind == "element").map(|e| (e.name, e.to)).collect();
        read.tensors = (0..).zip(ids).filter_map(|(i, id)| Some((*id, *found.get(&i)?))).collect();
        read.helpers = vec![holder, list];
        Some(read)
    }

    fn nodes(&self) -> usize {
        self.first.len() - 1
    }

    fn is_synthetic(&self, node: usize) -> bool {
        let kind = self.document.nodes.get(node * self.shape.node_len + self.shape.kind);
        kind == Some(&self.shape.synthetic)
    }

    fn edges_of(&self, node: usize) -> impl Iterator<Item = Edge<'_>> {
        let Shape { edge_len, edge_kind, edge_name, to, kinds, node_len, .. } = &self.shape;
        let range = self.first[node] * edge_len..self.first[node + 1] * edge_len;
        self.document.edges.get(range).unwrap_or_default().chunks_exact(*edge_len).map(
            move |edge| Edge {
                kind: kinds.get(edge[*edge_kind] as usize).map_or("", String::as_str),
                name: edge[*edge_name],
                to: edge[*to] as usize / node_len,
            },
        )
    }

    /// How the program reaches handles: the end of a shortest path from the roots.
    pub fn holders(&self) -> HashMap<u64, String> {
        let mut from: Vec<Option<(usize, &str, u64)>> = vec![None; self.nodes()];
        let mut order = std::collections::VecDeque::from([0]);
        let mut seen = vec![false; self.nodes()];
        for node in [0].iter().chain(&self.helpers) {
            seen[*node] = true;
        }
        while let Some(node) = order.pop_front() {
            // V8's lists of roots are no part of the program.
            let root = self.is_synthetic(node);
            for edge in self.edges_of(node).filter(|e| e.kind != "weak") {
                if !seen.get(edge.to).copied().unwrap_or(true) {
                    seen[edge.to] = true;
                    let kind = if root { "internal" } else { edge.kind };
                    from[edge.to] = Some((node, kind, edge.name));
                    order.push_back(edge.to);
                }
            }
        }
        let path = |node| path_text(&from, node, &self.document.strings);
        self.tensors
            .iter()
            .filter_map(|(id, node)| Some((id.to_f64().to_bits(), path(*node)?)))
            .collect()
    }

    /// The snapshot's text, with a native node per storage. `describe` names a handle's storage: a
    /// number of its own, its bytes and a text; `rest` bytes have no handle.
    pub fn write(
        mut self,
        describe: impl Fn(HeapId) -> Option<(usize, u64, String)>,
        rest: u64,
    ) -> Result<Vec<u8>, String> {
        let mut extra: Vec<Vec<(u64, usize)>> = vec![Vec::new(); self.nodes()];
        let native = self.string("native memory");
        let mut storages: HashMap<usize, usize> = HashMap::new();
        for (id, node) in std::mem::take(&mut self.tensors) {
            let Some((number, bytes, text)) = describe(id) else { continue };
            let to = match storages.get(&number) {
                Some(to) => *to,
                None => {
                    let to = self.add_native(&text, bytes);
                    storages.insert(number, to);
                    to
                }
            };
            extra[node].push((native, to));
        }
        if rest > 0 {
            let to = self.add_native("tensors that only the tape or native code holds", rest);
            extra[0].push((native, to));
        }
        self.rebuild_edges(&extra)?;
        serde_json::to_vec(&self.document).map_err(|e| e.to_string())
    }

    fn string(&mut self, text: &str) -> u64 {
        self.document.strings.push(text.to_owned());
        (self.document.strings.len() - 1) as u64
    }

    /// Appends a node without edges; its number.
    fn add_native(&mut self, text: &str, bytes: u64) -> usize {
        let name = self.string(text);
        let Shape { node_len, kind, name: name_at, id, size, native, .. } = self.shape;
        let number = self.document.nodes.len() / node_len;
        let mut node = vec![0; node_len];
        node[kind] = native;
        node[name_at] = name;
        // Even ids are those of native nodes; V8 counts far below these.
        node[id] = (1 << 40) + 2 * number as u64;
        node[size] = bytes;
        self.document.nodes.extend(node);
        number
    }

    fn rebuild_edges(&mut self, extra: &[Vec<(u64, usize)>]) -> Result<(), String> {
        let Shape { node_len, edges: edges_at, edge_len, edge_kind, edge_name, to, .. } =
            self.shape;
        let internal = self.shape.kinds.iter().position(|kind| kind == "internal");
        let internal = internal.ok_or("V8's text has no internal edges")? as u64;
        let old = std::mem::take(&mut self.document.edges);
        let mut edges = Vec::with_capacity(old.len() + 64);
        for (node, extra) in extra.iter().enumerate() {
            let own = self.first[node] * edge_len..self.first[node + 1] * edge_len;
            let mut count = 0;
            if !self.helpers.contains(&node) {
                edges.extend_from_slice(old.get(own.clone()).unwrap_or_default());
                count = own.len() / edge_len;
            }
            for (name, target) in extra {
                let mut edge = vec![0; edge_len];
                edge[edge_kind] = internal;
                edge[edge_name] = *name;
                edge[to] = (*target * node_len) as u64;
                edges.extend(edge);
            }
            self.document.nodes[node * node_len + edges_at] = (count + extra.len()) as u64;
        }
        let header = &mut self.document.snapshot;
        header.node_count = (self.document.nodes.len() / node_len) as u64;
        header.edge_count = (edges.len() / edge_len) as u64;
        self.document.edges = edges;
        Ok(())
    }
}

/// A list of live handles in the heap. No local reference to them stays, which would be a root.
fn list(
    scope: &mut v8::PinScope,
    state: &Rc<TensorState>,
) -> Option<(Vec<HeapId>, v8::Global<v8::Object>)> {
    v8::scope!(let scope, scope);
    let (ids, handles): (Vec<HeapId>, Vec<v8::Local<v8::Value>>) =
        state.nursery.handles(scope).into_iter().unzip();
    let list = v8::Array::new_with_elements(scope, &handles);
    let holder = v8::Object::new(scope);
    let name = v8::String::new(scope, HELPER)?;
    holder.set(scope, name.into(), list.into());
    Some((ids, v8::Global::new(scope, holder)))
}

struct Edge<'a> {
    kind: &'a str,
    name: u64,
    to: usize,
}

/// The variable, property and element names at the end of the path to `node`.
fn path_text(
    from: &[Option<(usize, &str, u64)>],
    node: usize,
    strings: &[String],
) -> Option<String> {
    const MOST: usize = 6;
    let mut parts: Vec<String> = Vec::new();
    let mut at = node;
    while let Some((parent, kind, name)) = from.get(at).copied().flatten() {
        at = parent;
        let text = || strings.get(name as usize).cloned().unwrap_or_default();
        match kind {
            "element" => parts.push(format!("[{name}]")),
            "property" => parts.push(format!(".{}", text())),
            "context" => {
                parts.push(text());
                break;
            }
            _ => continue,
        }
        if parts.len() == MOST {
            parts.push("...".to_owned());
            break;
        }
    }
    parts.reverse();
    let text = parts.concat();
    (!text.is_empty()).then(|| text.trim_start_matches('.').to_owned())
}
