// Writes what check.py reads: `mlrun write.js FOLDER`. Each tensor is a function of its dtype and
// layout that check.py computes too.
import { arange, io, tensor } from "mlrun";

const folder = process.argv[2];
const tensors = {};
for (const dtype of ["float32", "float16", "bfloat16", "float64", "int8", "uint8", "int16", "int32", "int64", "bool"]) {
  const t = arange(24).reshape([2, 3, 4]).sub(dtype === "uint8" ? 0 : 5).to(dtype);
  tensors[`${dtype}-plain`] = t;
  tensors[`${dtype}-transposed`] = t.transpose(0, 2);
  tensors[`${dtype}-strided`] = t.index(":", "::2", "1::2");
  tensors[`${dtype}-expanded`] = t.select(0, 0).unsqueeze(0).expand([2, 3, 4]);
  tensors[`${dtype}-empty`] = t.narrow(1, 0, 0);
  tensors[`${dtype}-number`] = t.index(1, 2, 3);
}
tensors["größe/中-special"] = tensor([NaN, Infinity, -Infinity, -0, 0.1]);
tensors["large-int64"] = tensor([2n ** 63n - 1n, -(2n ** 63n)]);

io.saveSafetensors(`${folder}/a.safetensors`, tensors, { metadata: { format: "pt", größe: "中" } });
io.saveNpz(`${folder}/a.npz`, tensors);
io.saveNpz(`${folder}/b.npz`, tensors, { compressed: true });
for (const [name, t] of Object.entries(tensors)) io.saveNpy(`${folder}/${name.replace("/", "_")}.npy`, t);
