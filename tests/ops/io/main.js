// Tensors that were saved are loaded as they were: every dtype, any layout, names and metadata.
import { arange, gc, io, memoryStats, setMemoryLimit, tensor, TensorMemoryError, zeros } from "mlrun";

const DTYPES = ["float32", "float16", "bfloat16", "float64", "int8", "uint8", "int16", "int32", "int64", "bool"];

function same(a, b) {
  return a.dtype === b.dtype && a.shape.join() === b.shape.join() && String(a.toTypedArray()) === String(b.toTypedArray());
}

const base = arange(24).reshape([2, 3, 4]);
const tensors = {};
for (const dtype of DTYPES) {
  const t = base.sub(5).to(dtype);
  tensors[dtype] = t;
  tensors[`${dtype} transposed`] = t.transpose(0, 2);
  tensors[`${dtype} expanded`] = t.select(1, 1).unsqueeze(0).expand([3, 2, 4]);
  tensors[`${dtype} strided`] = t.index(":", "::2", "1::2");
  tensors[`${dtype} empty`] = t.narrow(0, 0, 0);
  tensors[`${dtype} number`] = t.index(1, 2, 3);
}
tensors["__proto__ of größe/中"] = tensor([2n ** 63n - 1n, -(2n ** 63n)]);
Object.defineProperty(tensors, "__proto__", { value: tensor([NaN, -0, 1 / 3]), enumerable: true });

function compare(what, loaded) {
  const names = Object.keys(tensors);
  const wrong = names.filter((name) => !Object.hasOwn(loaded, name) || !same(loaded[name], tensors[name]));
  console.log(what, Object.keys(loaded).length === names.length && wrong.length === 0 ? "same" : wrong);
}

io.saveSafetensors("a.safetensors", tensors, { metadata: { format: "pt", "größe": "中\n" } });
compare("safetensors", io.loadSafetensors("a.safetensors"));
io.saveNpz("a.npz", new Map(Object.entries(tensors)));
compare("npz", io.loadNpz("a.npz"));
io.saveNpz("b.npz", tensors, { compressed: true });
compare("npz, compressed", await io.loadNpz("b.npz"));
const one = Object.entries(tensors).filter(([, t]) => {
  io.saveNpy("a.npy", t);
  return !same(io.loadNpy(new URL("a.npy", import.meta.url)), t);
});
console.log("npy", one.length === 0 ? "same" : one);

const header = io.safetensorsHeader("a.safetensors");
console.log(header.metadata, header.tensors["bfloat16 transposed"], Object.keys(header.tensors).length);
console.log(Object.keys(io.loadSafetensors("a.safetensors", { names: ["bool", "int8"] })));
console.log(Object.keys(io.loadNpz("a.npz", { names: ["int64"] })), io.loadNpz("a.npz", { names: [] }));

// A gradient is no part of a file, and what is loaded is a leaf of its own.
const leaf = tensor([1, 2], { requiresGrad: true });
io.saveNpy("a.npy", leaf.mul(2));
const loaded = io.loadNpy("a.npy");
io.saveNpy("a.npy", zeros([1000]));
console.log(loaded.toArray(), loaded.requiresGrad, loaded.isLeaf);

// A load that does not fit leaves nothing behind; one that fits once garbage is gone works.
gc();
const { liveBytes, liveTensors } = memoryStats();
io.saveSafetensors("two.safetensors", { a: tensor(new Float32Array(900)), b: tensor(new Float32Array(300)) });
setMemoryLimit(liveBytes + 4500);
try {
  io.loadSafetensors("two.safetensors");
} catch (e) {
  console.log(e instanceof TensorMemoryError, e.message.replace(/\d+/g, "N"));
}
gc();
console.log(memoryStats().liveTensors - liveTensors, memoryStats().liveBytes - liveBytes);
for (let i = 0; i < 5; i++) io.loadNpy("a.npy");
console.log("loaded five times what fits once");
