"""Writes oracle.json: random programs of views, in-place ops and their use, with the values and
gradients that PyTorch gives, or the step that it refuses. Numbers are small and whole, so that
both sides compute exactly.

    python oracle.py > oracle.json

A program is a list of steps; each gives one more tensor, or changes one, by number. Tensors 0 and 1
are leaves, 2 is computed from 0, 3 is a buffer. Steps:

    ["view", from, kind, ...], ["noGrad view", ...], ["split", from, dim, part]
    ["op", "add" | "sub" | "mul", a, operand]          operand: [tensor] or a number
    ["in place", "add_" ... | "copy_" | "fill_", a, operand], ["noGrad in place", ...]
"""
import json
import random
import torch

random.seed(11)
PROGRAMS = 600
VIEWS = {
    "narrow": lambda t, d, start, n: t.narrow(d, start, n),
    "select": lambda t, d, i: t.select(d, i),
    "slice": lambda t, step: t[::step],
    "transpose": lambda t: t.transpose(0, -1),
    "unsqueeze": lambda t, d: t.unsqueeze(d),
    "view": lambda t, *shape: t.view(shape),
    "diagonal": lambda t: t.diagonal(),
    "expand": lambda t: t.unsqueeze(0).expand(2, *t.shape),
}


def start():
    x = torch.tensor([[1, -2, 3, 1], [2, 1, -1, 2], [-1, 3, 1, -3]], dtype=torch.float64, requires_grad=True)
    w = torch.tensor([2, -1, 1, 3], dtype=torch.float64, requires_grad=True)
    return [x, w, x * 1, torch.zeros(3, 4, dtype=torch.float64)]


def draw_view(t):
    kinds = ["unsqueeze"]
    if t.ndim > 0:
        kinds += ["narrow", "narrow", "select", "slice", "transpose", "expand"]
    if t.ndim > 1:
        kinds += ["diagonal", "view"]
    kind = random.choice(kinds)
    d = random.randrange(t.ndim) if t.ndim else 0
    if kind == "narrow":
        at = random.randrange(t.shape[d])
        return [kind, d, at, random.randint(1, t.shape[d] - at)]
    if kind == "select":
        return [kind, d, random.randrange(t.shape[d])]
    if kind == "slice":
        return [kind, random.choice([1, 2])]
    if kind == "unsqueeze":
        return [kind, random.randint(0, t.ndim)]
    if kind == "view":
        shape = random.choice([[t.numel()], [1, *t.shape], [*reversed(t.shape)]])
        return [kind, *(shape if t.is_contiguous() else [*t.shape])]
    return [kind]


def draw(ts):
    """One step. Leaves are rarely changed: PyTorch refuses that."""
    weights = [0.3 if i < 2 else 2 + i for i in range(len(ts))]
    a = random.choices(range(len(ts)), weights)[0]
    roll = random.random()
    if roll < 0.35:
        return ["noGrad view" if random.random() < 0.04 else "view", a, *draw_view(ts[a])]
    if roll < 0.38 and ts[a].ndim:
        return ["split", a, 0, 0]
    # What shares some elements only gives PyTorch an error or, broadcast, anything.
    fits = [i for i, t in enumerate(ts) if broadcasts(t, ts[a]) and apart(t, ts[a])]
    operand = [random.choice(fits)] if random.random() < 0.75 else random.choice([-1, 2, 3])
    if roll < 0.5:
        return ["op", random.choice(["add", "sub", "mul"]), a, operand]
    name = random.choice(["add_", "sub_", "mul_", "copy_", "fill_"])
    if name == "copy_" and not isinstance(operand, list):
        operand = [random.choice(fits)]
    if name == "fill_":
        if any(n > 1 and s == 0 for n, s in zip(ts[a].shape, ts[a].stride())):
            return draw(ts)  # the only op that PyTorch lets write an expanded tensor
        operand = random.choice([-1, 2, 0])
    if name == "copy_" and operand == [a]:
        return draw(ts)
    return ["noGrad in place" if random.random() < 0.04 else "in place", name, a, operand]


def apart(t, to):
    if t.untyped_storage().data_ptr() != to.untyped_storage().data_ptr():
        return True
    return (t.shape, t.stride(), t.storage_offset()) == (to.shape, to.stride(), to.storage_offset())


def broadcasts(t, to):
    try:
        return torch.broadcast_shapes(t.shape, to.shape) == to.shape
    except RuntimeError:
        return False


def run(ts, step):
    for t in ts:
        try:
            t.grad_fn  # else some views still pass for leaves after a change of their base
        except RuntimeError:
            pass
    kind, *rest = step
    if kind == "view":
        a, name, *args = rest
        ts.append(VIEWS[name](ts[a], *args))
    elif kind == "split":
        a, d, part = rest
        ts.append(ts[a].split(1, d)[part])
    elif kind.startswith("noGrad"):
        with torch.no_grad():
            run(ts, [kind[7:], *rest])
    else:
        name, a, operand = rest
        value = ts[operand[0]] if isinstance(operand, list) else operand
        out = getattr(ts[a], name)(value)
        if kind == "op":
            ts.append(out)


def flat(t):
    return [int(v) if v == int(v) else v for v in t.detach().flatten().tolist()]


def program():
    ts, steps = start(), []
    out = {"steps": steps}
    for _ in range(random.randint(3, 9)):
        step = draw(ts)
        steps.append(step)
        try:
            run(ts, step)
        except RuntimeError as e:
            if "no_grad mode" not in str(e) and "view" not in str(e) and "leaf" not in str(e) and "memory" not in str(e):
                raise
            out["refused"] = len(steps) - 1
            return out
    try:
        total = sum((t * (k + 1)).sum() for k, t in enumerate(ts))
        grads = torch.autograd.grad(total, ts[:2], allow_unused=True)
    except RuntimeError as e:
        if "single memory location" in str(e):  # its own gradient of an expanded view, not ours
            return program()
        if any(kind == "split" or kind.startswith("noGrad") for kind, *_ in steps):
            return program()  # these have no twin to compare with where only PyTorch refuses
        assert "modified by an inplace" in str(e), e
        out["refused"] = "gradient"
        return out
    out["values"] = [flat(t) for t in ts[2:]]
    out["recorded"] = [t.requires_grad for t in ts]
    out["grads"] = [flat(torch.zeros_like(t) if g is None else g) for g, t in zip(grads, ts)]
    return out


print("[" + ",\n".join(json.dumps(program(), separators=(",", ":")) for _ in range(PROGRAMS)) + "]")
