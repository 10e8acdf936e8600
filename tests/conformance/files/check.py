"""Reads what write.js wrote with NumPy and the safetensors package: `python check.py FOLDER`."""

import pathlib
import sys

import ml_dtypes
import numpy as np
from safetensors import safe_open
from safetensors.numpy import load_file

folder = pathlib.Path(sys.argv[1])
expected = {}
for dtype in ["float32", "float16", "bfloat16", "float64", "int8", "uint8", "int16", "int32", "int64", "bool"]:
    kind = ml_dtypes.bfloat16 if dtype == "bfloat16" else np.dtype(dtype)
    t = (np.arange(24).reshape(2, 3, 4) - (0 if dtype == "uint8" else 5)).astype(kind)
    expected[f"{dtype}-plain"] = t
    expected[f"{dtype}-transposed"] = t.swapaxes(0, 2)
    expected[f"{dtype}-strided"] = t[:, ::2, 1::2]
    expected[f"{dtype}-expanded"] = np.broadcast_to(t[0], (2, 3, 4))
    expected[f"{dtype}-empty"] = t[:, :0]
    expected[f"{dtype}-number"] = t[1, 2, 3]
expected["größe/中-special"] = np.array([np.nan, np.inf, -np.inf, -0.0, 0.1], np.float32)
expected["large-int64"] = np.array([2**63 - 1, -(2**63)], np.int64)


def same(what, got, want):
    want = np.asarray(want)
    if got.dtype == np.dtype("V2"):
        got = got.view(ml_dtypes.bfloat16)
    assert got.dtype == want.dtype, f"{what}: {got.dtype}, expected {want.dtype}"
    assert got.shape == want.shape, f"{what}: {got.shape}, expected {want.shape}"
    assert got.tobytes() == want.tobytes(), f"{what}: {got}, expected {want}"


count = 0
for file, arrays in {
    "a.npz": np.load(folder / "a.npz"),
    "b.npz": np.load(folder / "b.npz"),
    "a.safetensors": load_file(folder / "a.safetensors"),
    "npy": {name: np.load(folder / f"{name.replace('/', '_')}.npy") for name in expected},
}.items():
    assert set(arrays.keys()) == set(expected), f"{file}: {sorted(arrays.keys())}"
    for name, want in expected.items():
        same(f"{file} {name}", arrays[name], want)
        count += 1
with safe_open(folder / "a.safetensors", "numpy") as f:
    assert f.metadata() == {"format": "pt", "größe": "中"}, f.metadata()
assert count == 4 * len(expected) and len(expected) == 62
print(f"{count} arrays read")
