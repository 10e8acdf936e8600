"""The programs of compare.py in PyTorch: `python torch_programs.py NAME STEPS`."""
import sys

import torch
from torch import nn


def training():
    x, y = torch.randn(512, 64), torch.randn(512, 1)
    model = nn.Sequential(nn.Linear(64, 256), nn.Tanh(), nn.Linear(256, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

    def step():
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step


def window():
    last = []

    def step():
        last.append(torch.randn(256, 1024))
        if len(last) > 3:
            last.pop(0)

    return step


def chain():
    state = [torch.ones(512, 512)]

    def step():
        state[0] = state[0].mul(0.5).add(1)

    return step


def drop():
    return lambda: torch.randn(256, 1024)


torch.set_num_threads(2)
name, steps = sys.argv[1], int(sys.argv[2])
step = {"drop": drop, "chain": chain, "window": window, "training": training}[name]()
step()
print("start", flush=True)
for _ in range(steps):
    step()
print("end", flush=True)
