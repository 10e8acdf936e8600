"""Writes oracle.json: parameters after each of some steps of PyTorch's optimizers, learning rates
of its schedules, and clipped gradients, all in float64. Lion and EMA follow their papers' formulas.

    python oracle.py > oracle.json
"""
import json
import warnings
import torch
from torch.optim import lr_scheduler as lr

warnings.filterwarnings("ignore")
torch.manual_seed(5)
SHAPES = [(2, 3), (4,)]
STEPS = 4


def short(t):
    return [float(f"{v:.9g}") for v in t.detach().flatten().tolist()]


START = [torch.randn(*s).float().double() for s in SHAPES]
GRADS = [[torch.randn(*s).float().double() for s in SHAPES] for _ in range(STEPS)]


class Lion(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-4, betas=(0.9, 0.99), weight_decay=0.0):
        super().__init__(params, dict(lr=lr, betas=betas, weight_decay=weight_decay))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            b1, b2 = group["betas"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                m = self.state[p].setdefault("m", torch.zeros_like(p))
                p.mul_(1 - group["lr"] * group["weight_decay"])
                p.add_((b1 * m + (1 - b1) * p.grad).sign(), alpha=-group["lr"])
                m.mul_(b2).add_(p.grad, alpha=1 - b2)


def run(make, missing=()):
    params = [p.clone().requires_grad_() for p in START]
    optimizer = make(params)
    out = []
    for step, grads in enumerate(GRADS):
        for i, (p, g) in enumerate(zip(params, grads)):
            p.grad = None if (step, i) in missing else g.clone()
        optimizer.step()
        out.append([short(p) for p in params])
    return out


O = torch.optim
optimizers = {
    "SGD": run(lambda p: O.SGD(p)),
    "SGD momentum": run(lambda p: O.SGD(p, lr=0.1, momentum=0.9, dampening=0.2, weight_decay=0.05)),
    "SGD nesterov": run(lambda p: O.SGD(p, lr=0.1, momentum=0.9, nesterov=True)),
    "SGD groups": run(lambda p: O.SGD([{"params": [p[0]], "lr": 0.5}, {"params": [p[1]], "weight_decay": 0.1}], lr=0.1)),
    "Adam": run(lambda p: O.Adam(p)),
    "Adam settings": run(lambda p: O.Adam(p, lr=0.01, betas=(0.8, 0.95), eps=1e-3, weight_decay=0.1)),
    "Adam missing gradients": run(lambda p: O.Adam(p, lr=0.01), missing={(0, 1), (2, 0)}),
    "AdamW": run(lambda p: O.AdamW(p, lr=0.02)),
    "RMSprop": run(lambda p: O.RMSprop(p)),
    "RMSprop momentum": run(lambda p: O.RMSprop(p, lr=0.01, alpha=0.9, momentum=0.8, weight_decay=0.1)),
    "RMSprop centered": run(lambda p: O.RMSprop(p, centered=True)),
    "RMSprop both": run(lambda p: O.RMSprop(p, centered=True, momentum=0.5)),
    "Adagrad": run(lambda p: O.Adagrad(p)),
    "Adagrad settings": run(lambda p: O.Adagrad(p, lr=0.1, lr_decay=0.2, weight_decay=0.1, initial_accumulator_value=0.5)),
    "Lion": run(lambda p: Lion(p)),
    "Lion settings": run(lambda p: Lion(p, lr=0.01, betas=(0.8, 0.9), weight_decay=0.3)),
}


def rates(make, steps=24, metrics=None, momentum=False):
    p = torch.zeros(1, requires_grad=True)
    optimizer = O.SGD([{"params": [p]}, {"params": [torch.zeros(1, requires_grad=True)], "lr": 0.01}], lr=0.1, momentum=0.9)
    schedule = make(optimizer)
    out = []
    for i in range(steps):
        row = [g["lr"] for g in optimizer.param_groups]
        if momentum:
            row.append(optimizer.param_groups[0]["momentum"])
        out.append([float(f"{v:.12g}") for v in row])
        optimizer.step()
        if i + 1 < steps:
            schedule.step(*([metrics[i]] if metrics else []))
    return out


METRICS = [1, 0.9, 0.9, 0.95, 0.91, 0.92, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.4, 0.4, 0.4, 0.4, 0.4, 0.4, 0.4, 0.4, 0.4, 0.4, 0.4]
schedules = {
    "StepLR": rates(lambda o: lr.StepLR(o, 5)),
    "MultiStepLR": rates(lambda o: lr.MultiStepLR(o, [3, 7, 7, 15], gamma=0.5)),
    "ExponentialLR": rates(lambda o: lr.ExponentialLR(o, 0.9)),
    "LinearLR": rates(lambda o: lr.LinearLR(o, start_factor=0.1, total_iters=10)),
    "ConstantLR": rates(lambda o: lr.ConstantLR(o, factor=0.5, total_iters=4)),
    "CosineAnnealingLR": rates(lambda o: lr.CosineAnnealingLR(o, 20, eta_min=1e-3)),
    "CosineAnnealingWarmRestarts": rates(lambda o: lr.CosineAnnealingWarmRestarts(o, 4, T_mult=2, eta_min=1e-3)),
    "LambdaLR": rates(lambda o: lr.LambdaLR(o, [lambda t: 0.95**t, lambda t: 1 / (1 + t)])),
    "OneCycleLR": rates(lambda o: lr.OneCycleLR(o, 0.5, total_steps=24), momentum=True),
    "OneCycleLR linear": rates(lambda o: lr.OneCycleLR(o, [0.5, 0.2], total_steps=24, anneal_strategy="linear", three_phase=True), momentum=True),
    "ReduceLROnPlateau": rates(lambda o: lr.ReduceLROnPlateau(o, factor=0.5, patience=2, cooldown=1), metrics=METRICS),
    "SequentialLR": rates(lambda o: lr.SequentialLR(o, [lr.LinearLR(o, start_factor=0.1, total_iters=5), lr.CosineAnnealingLR(o, 15)], [5])),
}


def clipped(f):
    params = [p.clone().requires_grad_() for p in START]
    for p, g in zip(params, GRADS[0]):
        p.grad = g.clone()
    total = f(params)
    return {"total": None if total is None else float(total), "grads": [short(p.grad) for p in params]}


U = torch.nn.utils
clips = {
    "norm": clipped(lambda p: U.clip_grad_norm_(p, 1.0)),
    "large": clipped(lambda p: U.clip_grad_norm_(p, 100.0)),
    "infinity": clipped(lambda p: U.clip_grad_norm_(p, 0.5, norm_type=float("inf"))),
    "one": clipped(lambda p: U.clip_grad_norm_(p, 2.0, norm_type=1)),
    "three": clipped(lambda p: U.clip_grad_norm_(p, 1.0, norm_type=3)),
    "value": clipped(lambda p: U.clip_grad_value_(p, 0.5)),
}

print(json.dumps({
    "shapes": SHAPES, "start": [short(p) for p in START], "grads": [[short(g) for g in row] for row in GRADS],
    "metrics": METRICS, "optimizers": optimizers, "schedules": schedules, "clips": clips,
}, separators=(",", ":")))
