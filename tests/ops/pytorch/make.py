"""Writes values.json: what PyTorch gives for each op, dtype and form of main.js.

usage: python make.py > values.json   (any PyTorch from 2.0 on; the names in OPS are those of calls.js)
"""
import json
import math

import torch
import torch.nn.functional as F

DTYPES = {
    "float32": torch.float32, "float64": torch.float64, "float16": torch.float16, "bfloat16": torch.bfloat16,
    "int8": torch.int8, "uint8": torch.uint8, "int16": torch.int16, "int32": torch.int32, "int64": torch.int64,
    "bool": torch.bool,
}
MATRIX = [1.5, -2, 0.25, 3, -0.5, 4, 0, -1, 2, 0.75, -3, 1]
OTHER = [2, 1, -0.5, 3, 0.5, -4, 1, 2, -1, 3, 2, 0.25]
VECTOR = [0.5, -1, 2, 0, 3, -0.25, 1, -2, 1.75, 4, -3, 0.125, -0.5, 2.5, -4, 1, 0.75]


def base(values, dtype):
    """Whole parts for integers, absolute for unsigned, so that nothing depends on a conversion."""
    if dtype == torch.bool:
        return torch.tensor([v > 0.4 for v in values])
    if dtype.is_floating_point:
        return torch.tensor(values, dtype=dtype)
    whole = [math.trunc(v) for v in values]
    return torch.tensor([abs(v) for v in whole] if dtype == torch.uint8 else whole, dtype=dtype)


UNARY = {
    "neg": lambda x: -x, "abs": torch.abs, "sign": torch.sign, "square": torch.square, "relu": torch.relu,
    "floor": torch.floor, "ceil": torch.ceil, "round": torch.round, "trunc": torch.trunc, "exp": torch.exp,
    "expm1": torch.expm1, "log": torch.log, "log1p": torch.log1p, "log2": torch.log2, "log10": torch.log10,
    "sqrt": torch.sqrt, "rsqrt": torch.rsqrt, "reciprocal": torch.reciprocal, "sin": torch.sin, "cos": torch.cos,
    "tan": torch.tan, "asin": torch.asin, "acos": torch.acos, "atan": torch.atan, "sinh": torch.sinh,
    "cosh": torch.cosh, "tanh": torch.tanh, "sigmoid": torch.sigmoid, "erf": torch.erf, "silu": F.silu, "gelu": F.gelu,
    "gelu tanh": lambda x: F.gelu(x, approximate="tanh"), "softplus": F.softplus, "elu": F.elu,
    "leakyRelu": F.leaky_relu, "clamp": lambda x: x.clamp(-1, 2), "isnan": torch.isnan, "isinf": torch.isinf,
    "isfinite": torch.isfinite, "logicalNot": torch.logical_not,
    "add 2": lambda x: x + 2, "mul 0.5": lambda x: x * 0.5, "div 2": lambda x: x / 2, "sub 1": lambda x: x - 1,
    "pow 2": lambda x: x**2, "remainder 2": lambda x: x % 2, "floorDivide 2": lambda x: x // 2, "gt 0": lambda x: x > 0,
    "maskedFill": lambda x: x.masked_fill(x > 0, 1), "where": lambda x: torch.where(x > 0, x, 0),
}
LINES = {
    "sum": lambda x: x.sum(), "sum 0": lambda x: x.sum(0), "sum -1 keepdim": lambda x: x.sum(-1, keepdim=True),
    "mean": lambda x: x.mean(), "mean 0": lambda x: x.mean(0), "prod": lambda x: x.prod(), "prod 0": lambda x: x.prod(0),
    "amax": lambda x: x.amax(0), "amin": lambda x: x.amin(-1), "max": lambda x: x.max(), "max values": lambda x: x.max(0).values,
    "argmax": lambda x: x.argmax(), "argmin 0": lambda x: x.argmin(0), "any": lambda x: x.any(), "all 0": lambda x: x.all(0),
    "variance": lambda x: x.var(-1), "std": lambda x: x.std(), "norm": lambda x: x.norm(), "norm 1": lambda x: x.norm(1, -1),
    "logsumexp": lambda x: x.logsumexp(-1), "cumsum": lambda x: x.cumsum(0), "cumprod": lambda x: x.cumprod(-1),
    "sort": lambda x: x.sort(dim=-1, stable=True).values, "argsort": lambda x: x.argsort(dim=0, stable=True),
    "argsort descending": lambda x: x.argsort(dim=-1, descending=True, stable=True),
    "topk": lambda x: x.topk(min(2, x.shape[-1]), -1).values, "nonzero": lambda x: x.nonzero(),
    "flip": lambda x: x.flip(-1), "roll": lambda x: x.roll(1, 0), "softmax": lambda x: F.softmax(x, -1),
    "logSoftmax": lambda x: F.log_softmax(x, 0),
}
MATRICES = {
    "tril": torch.tril, "triu": lambda x: torch.triu(x, 1), "T": lambda x: x.T, "diagonal": lambda x: x.diagonal(1),
    "gather": lambda x: x.gather(1, torch.tensor([[0, 0], [3, 1], [2, 2]])),
    "indexSelect": lambda x: x.index_select(0, torch.tensor([2, 0, 2])),
    "index": lambda x: x[torch.tensor([2, 0]), torch.tensor([1, -1])], "index mask": lambda x: x[x > 0],
    "narrow": lambda x: x.narrow(1, 1, 2), "repeat": lambda x: x.repeat(1, 2), "outer": lambda x: x[:, 0].outer(x[0]),
    "matmul": lambda x: x @ x.T, "einsum": lambda x: torch.einsum("ij,kj->ki", x, x),
}
BINARY = {
    "add": torch.add, "sub": torch.sub, "mul": torch.mul, "div": torch.div, "maximum": torch.maximum,
    "minimum": torch.minimum, "atan2": torch.atan2, "eq": torch.eq, "ne": torch.ne, "lt": torch.lt, "le": torch.le,
    "gt": torch.gt, "ge": torch.ge, "logicalAnd": torch.logical_and, "logicalOr": torch.logical_or,
    "bitwiseAnd": torch.bitwise_and, "bitwiseOr": torch.bitwise_or, "bitwiseXor": torch.bitwise_xor,
    "add row": lambda a, b: a + b[0], "mul column": lambda a, b: a * b[:, :1], "stack": lambda a, b: torch.stack([a, b], 1),
    "concat": lambda a, b: torch.cat([a, b], -1),
}


def number(v, digits):
    if isinstance(v, bool):
        return int(v)
    if isinstance(v, float) and not math.isfinite(v):
        return "nan" if math.isnan(v) else "inf" if v > 0 else "-inf"
    return float(f"{v:.{digits}g}") if isinstance(v, float) else v


def result(f, *args):
    try:
        y = f(*args)
    except (RuntimeError, IndexError, NotImplementedError, TypeError):
        return None
    wide = y.to(torch.float64) if y.dtype.is_floating_point else y
    return [str(y.dtype)[6:], list(y.shape), [number(v, 12 if y.dtype == torch.float64 else 9) for v in wide.flatten().tolist()]]


def main():
    out = {"MATRIX": MATRIX, "OTHER": OTHER, "VECTOR": VECTOR, "cases": {}, "promotion": {}}
    for name, dtype in DTYPES.items():
        x, y = base(MATRIX, dtype).reshape(3, 4), base(OTHER, dtype).reshape(3, 4)
        v, none = base(VECTOR, dtype), torch.zeros(0, 4, dtype=dtype)
        cases = {}
        for op, f in UNARY.items():
            cases[op] = {"vector": result(f, v), "empty": result(f, none)}
        for op, f in LINES.items():
            cases[op] = {"matrix": result(f, x), "empty": result(f, none)}
            cases[op]["lengths"] = [result(f, v[:n]) for n in range(1, 18)] if name in ("float32", "int32") else []
        for op, f in MATRICES.items():
            cases[op] = {"matrix": result(f, x)}
        for op, f in BINARY.items():
            cases[op] = {"pair": result(f, x, y)}
        out["cases"][name] = cases
        for other, second in DTYPES.items():
            a, b = torch.ones(2, dtype=dtype), torch.ones(2, dtype=second)
            out["promotion"][f"{name} {other}"] = [str(t.dtype)[6:] for t in (a * b, a * b[0], a[0] * b, a[0] * b[0], torch.where(a > 0, a, b))]
    torch_version = torch.__version__
    print(json.dumps({"torch": torch_version, **out}, separators=(",", ":")).replace('"float32":{', '\n"float32":{'))


main()
