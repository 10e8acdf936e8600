"""Writes ONNX's node tests, which the onnx package carries, as files that run.js reads.

    python export.py FOLDER

FOLDER gets cases.json, an array of `{ name, opset, inputs, outputs, nodes, sets }` or
`{ name, excluded }`, and tensors.npz with inputs, outputs and constants under "NAME/...".
"""

import json
import pathlib
import sys

import numpy as np
import onnx
from onnx import AttributeProto, TensorProto, numpy_helper

DTYPES = {
    TensorProto.FLOAT: "float32", TensorProto.FLOAT16: "float16", TensorProto.BFLOAT16: "bfloat16",
    TensorProto.DOUBLE: "float64", TensorProto.INT8: "int8", TensorProto.UINT8: "uint8",
    TensorProto.INT16: "int16", TensorProto.INT32: "int32", TensorProto.INT64: "int64", TensorProto.BOOL: "bool",
}
A = AttributeProto
tensors = {}


class Excluded(Exception):
    pass


def store(key, tensor):
    if tensor.data_type not in DTYPES:
        raise Excluded(f"dtype {TensorProto.DataType.Name(tensor.data_type).lower()}")
    if tensor.HasField("data_location") and tensor.data_location == TensorProto.EXTERNAL:
        raise Excluded("tensor in another file")
    tensors[key] = np.asarray(numpy_helper.to_array(tensor))
    return key


def number(f):
    """JSON has no NaN and no infinities: as text."""
    return f if np.isfinite(f) else str(f)


def attribute(key, a):
    if a.type == A.FLOAT:
        return number(a.f)
    if a.type == A.INT:
        return a.i
    if a.type == A.STRING:
        return a.s.decode()
    if a.type == A.FLOATS:
        return [number(f) for f in a.floats]
    if a.type == A.INTS:
        return list(a.ints)
    if a.type == A.TENSOR:
        return {"tensor": store(key, a.t)}
    raise Excluded(f"attribute of type {A.AttributeType.Name(a.type).lower()}")


def data(file, key, value):
    if not value.type.HasField("tensor_type"):
        kind = value.type.WhichOneof("value")
        raise Excluded(f"a value that is no tensor ({kind})")
    tensor = onnx.TensorProto()
    tensor.ParseFromString(file.read_bytes())
    return store(key, tensor)


def case(folder):
    name = folder.name
    model = onnx.load(folder / "model.onnx")
    graph = model.graph
    if any(n.domain not in ("", "ai.onnx") for n in graph.node):
        raise Excluded("op of another domain than ai.onnx")
    opset = max(o.version for o in model.opset_import if o.domain in ("", "ai.onnx"))
    nodes = [
        {
            "op": n.op_type,
            "inputs": list(n.input),
            "outputs": list(n.output),
            "attrs": {a.name: attribute(f"{name}/n{i}/{a.name}", a) for a in n.attribute},
        }
        for i, n in enumerate(graph.node)
    ]
    constants = {t.name: store(f"{name}/c/{t.name}", t) for t in graph.initializer}
    sets = []
    for s, files in enumerate(sorted(folder.glob("test_data_set_*"))):
        sets.append({
            part: [
                data(files / f"{part}_{i}.pb", f"{name}/{s}/{part}/{i}", value)
                for i, value in enumerate(values)
                if (files / f"{part}_{i}.pb").exists()
            ]
            for part, values in (("input", graph.input), ("output", graph.output))
        })
    return {
        "name": name, "opset": opset, "nodes": nodes, "constants": constants, "sets": sets,
        "inputs": [v.name for v in graph.input], "outputs": [v.name for v in graph.output],
    }


def main(out):
    cases = []
    root = pathlib.Path(onnx.__file__).parent / "backend/test/data/node"
    for folder in sorted(root.iterdir()):
        before = set(tensors)
        try:
            cases.append(case(folder))
        except Excluded as e:
            for key in set(tensors) - before:
                del tensors[key]
            cases.append({"name": folder.name, "excluded": str(e)})
    out.mkdir(parents=True, exist_ok=True)
    np.savez(out / "tensors.npz", **tensors)
    (out / "cases.json").write_text(json.dumps(cases))


main(pathlib.Path(sys.argv[1]))
