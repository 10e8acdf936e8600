// What is wrong with a file, or with a call that names one. The damaged files are made by
// ext/tensor/io's tests; here it is what a program sees.
import { io, tensor } from "mlrun";

const t = tensor([1, 2]);
io.saveNpy("good.npy", t);
io.saveNpz("good.npz", { a: t });
const gone = tensor([1]);
gone.dispose();

const table = {
  "missing": () => io.loadNpy("missing.npy"),
  "directory": () => io.loadSafetensors("."),
  "other format": () => io.loadSafetensors("good.npy"),
  "no archive": () => io.loadNpz("good.npy"),
  "no array": () => io.loadNpy("good.npz"),
  "text": () => io.loadNpy("main.js"),
  "missing name": () => io.loadNpz("good.npz", { names: ["b"] }),
  "missing folder": () => io.saveNpy("none/a.npy", t),
  "device": () => io.saveSafetensors("/dev/null", { t }),
  "file": () => io.loadNpy(7),
  "empty file": () => io.loadNpy(""),
  "http URL": () => io.loadNpy(new URL("http://localhost/a.npy")),
  "undecodable URL": () => io.loadNpy(new URL("file:///%ff")),
  "NUL": () => io.loadNpy("a\0b"),
  "no tensor": () => io.saveNpy("a.npy", [1]),
  "no tensors": () => io.saveNpz("a.npz", [t]),
  "one value is none": () => io.saveSafetensors("a.safetensors", { a: t, "b\n": 1 }),
  "disposed": () => io.saveNpy("a.npy", gone),
  "metadata": () => io.saveSafetensors("a.safetensors", { t }, { metadata: { n: 1 } }),
  "metadata's name": () => io.saveSafetensors("a.safetensors", { __metadata__: t }),
  "empty name": () => io.saveNpz("a.npz", { "": t }),
  "option": () => io.saveNpz("a.npz", { t }, { compress: true }),
  "names": () => io.loadNpz("good.npz", { names: "a" }),
};
for (const [what, call] of Object.entries(table)) {
  try {
    call();
    console.log(`${what}: no error`);
  } catch (e) {
    console.log(`${what}: ${e.name}${e.code ? ` (${e.code})` : ""}: ${e.message}`);
  }
}
