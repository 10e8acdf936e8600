"""Writes oracle.json: assignments by index with what PyTorch makes of them, forward and backward:
values, and gradients of the tensor and of the value by a cotangent that counts from 1.

    python oracle.py > oracle.json

A spec is what `index` takes: a number, "start:stop:step", "...", null, or {"int": nested list} or
{"mask": nested list} for tensors. NumPy gives the values of slices with a negative step.
"""
import json
import numpy as np
import torch

I = lambda *v: {"int": list(v)}
M = lambda *v: {"mask": list(v)}
# Shape of the tensor, specs, shape of the value or a number, accumulate.
CASES = [
    ([3, 4], [0], [4], False),
    ([3, 4], [-1, "1:3"], [2], False),
    ([3, 4], ["::2"], [4], False),
    ([3, 4], ["::2"], 7, False),
    ([3, 4], ["...", 1], [3], False),
    ([3, 4], [], [4], False),
    ([3, 4], ["1:2", "..."], [1, 1, 4], False),
    ([3, 4], [None, "...", 0], [1, 3], False),
    ([3, 4], ["2:1"], [1, 4], False),
    ([3, 4], ["::-1"], [3, 4], False),
    ([3, 4], ["::-2", "::-1"], [2, 4], False),
    ([3, 4], ["::-1", 0], [3], False),
    ([3, 4], ["1:", "::-1"], [4], True),
    ([3, 4], ["::2"], [2, 4], True),
    ([3, 4], [1, 2], [], True),
    ([5], [I(3, 0, -1)], [3], False),
    ([5], [I(3, 0, -1)], [], False),
    ([5], [I(3, 3, 1)], [3], True),
    ([4, 3], [I(2, 0)], [3], False),
    ([4, 3], [I(2, 0, 2)], [3, 3], True),
    ([4, 3], ["...", I(2, 0)], [4, 2], False),
    ([4, 3], [I(0, 3), I(1, 2)], [2], False),
    ([4, 3], [I([0], [3]), I(1, 2)], [2, 2], False),
    ([4, 3], [1, I(2, 0)], [2], False),
    ([4, 3], [I([1, 2], [3, 0])], [2, 3], False),
    ([2, 3, 4], [I(0, 1), "...", I(1, 3)], [2, 3], False),
    ([2, 3, 4], ["1:", I(0, 2), I(1, 3)], [1, 2], False),
    ([2, 3, 4], [":", I(0, 2), None, I(1, 3)], [2, 1, 1], True),
    ([2, 3, 4], [I(1), "::-1", "::2"], [1, 3, 2], False),
    ([2, 3, 4], [I(1, 0), ":", "::-1"], [3, 4], False),
    ([2, 3, 4], [0, "::-1", I(1, 3)], [2, 3], False),
    ([3, 2], [M([True, False], [False, True], [True, True])], [4], False),
    ([3, 2], [M([True, False], [False, True], [True, True])], 0, False),
    ([3, 2], [M([False, False], [False, False], [False, False])], 5, False),
    ([3, 2], [M(True, False, True)], [2], False),
    ([3, 2], [M(True, False, True)], [2, 2], True),
    ([3, 2], [":", M(False, True)], [3, 1], False),
    ([3, 2], [M(True, False, True), I(1, 0)], [2], False),
    ([2, 3, 4], ["1:", M(True, False, True), ":"], [1, 2, 4], False),
    ([0, 3], ["1:"], [3], False),
]
LAYOUTS = ["plain", "transposed", "strided"]


def spec(s):
    if isinstance(s, dict):
        return torch.tensor(s["int"]) if "int" in s else torch.tensor(s["mask"])
    if isinstance(s, str) and s != "...":
        return slice(*(int(p) if p.strip() else None for p in (s.split(":") + [""])[:3]))
    return ... if s == "..." else s


def values(shape, first):
    n = int(np.prod(shape))
    return (torch.arange(n, dtype=torch.float64) + first).reshape(shape)


def case(shape, specs, value, accumulate):
    x = values(shape, 1).requires_grad_()
    v = torch.tensor(float(value), dtype=torch.float64) if isinstance(value, int) else values(value, 100).requires_grad_()
    flips = [i for i, s in enumerate(specs) if isinstance(s, str) and "-" in s.split(":")[-1] and s.count(":") == 2]
    # Positions of the elements that are written, in the order of the value, by NumPy.
    numbers = np.arange(x.numel()).reshape(shape)
    places = numbers[tuple(spec(s) if not torch.is_tensor(spec(s)) else spec(s).numpy() for s in specs)]
    flat = torch.tensor(np.ascontiguousarray(places)).reshape(-1)
    # Dimensions of 1 in front of the value may be more than there are.
    while v.ndim > places.ndim:
        v_used = v[0]
        break
    else:
        v_used = v
    out = x * 1
    if not flips:
        if accumulate and not all(torch.is_tensor(spec(s)) for s in specs):
            out = out.reshape(-1).index_put((flat,), v_used.expand(places.shape).reshape(-1), accumulate=True).reshape(shape)
        elif accumulate:
            out.index_put_(tuple(spec(s) for s in specs), v, accumulate=True)
        else:
            out[tuple(spec(s) for s in specs)] = v
    else:
        out = out.reshape(-1).index_put((flat,), v_used.expand(places.shape).reshape(-1), accumulate=accumulate).reshape(shape)
    grads = torch.autograd.grad((out * values(shape, 1)).sum(), [t for t in (x, v) if t.requires_grad], allow_unused=True)
    flatten = lambda t: t.detach().reshape(-1).tolist()
    return {
        "shape": shape, "specs": specs, "value": value, "accumulate": accumulate,
        "result": flatten(out), "gradX": flatten(grads[0]), "gradValue": None if isinstance(value, int) else flatten(grads[1]),
    }


print("[" + ",\n".join(json.dumps(case(*c)) for c in CASES) + "]")
