"""Training and inference of whole models beside PyTorch eager with its fused optimizers.

Blocks of mlrun and PyTorch alternate, so that a change of the machine's pace meets both; a line
shows the medians, mlrun's rate divided by PyTorch's, and mlrun's peak bytes of tensors.

    venv/bin/python benches/training.py --mlrun target/release/mlrun [--threads 1] [--seconds 5] [CASE...]
"""
import argparse
import json
import statistics
import subprocess
import time
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

HERE = Path(__file__).parent


class Block(nn.Module):
    def __init__(self, width, heads, inner, causal, post, eps, approximate):
        super().__init__()
        self.heads, self.causal, self.post, self.approximate = heads, causal, post, approximate
        self.ln1, self.ln2 = nn.LayerNorm(width, eps=eps), nn.LayerNorm(width, eps=eps)
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.fc, self.out = nn.Linear(width, inner), nn.Linear(inner, width)

    def attend(self, x, mask):
        b, t, c = x.shape
        q, k, v = (z.view(b, t, self.heads, c // self.heads).transpose(1, 2) for z in self.qkv(x).chunk(3, -1))
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=self.causal)
        return self.proj(y.transpose(1, 2).reshape(b, t, c))

    def mlp(self, x):
        return self.out(F.gelu(self.fc(x), approximate=self.approximate))

    def forward(self, x, mask=None):
        if self.post:
            x = self.ln1(x + self.attend(x, mask))
            return self.ln2(x + self.mlp(x))
        x = x + self.attend(self.ln1(x), mask)
        return x + self.mlp(self.ln2(x))


class Transformer(nn.Module):
    def __init__(self, vocabulary, context, layers, **block):
        super().__init__()
        width = block["width"]
        self.wte, self.wpe = nn.Embedding(vocabulary, width), nn.Embedding(context, width)
        self.blocks = nn.ModuleList(Block(**block) for _ in range(layers))
        self.ln, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)

    def hidden(self, ids, mask=None):
        x = self.wte(ids) + self.wpe(torch.arange(ids.shape[1]))
        for block in self.blocks:
            x = block(x, mask)
        return x


def char_gpt():
    model = Transformer(65, 64, 4, width=128, heads=4, inner=512, causal=True, post=False, eps=1e-5, approximate="tanh")
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.95), weight_decay=0.1, fused=True)
    x, y = torch.randint(65, (12, 64)), torch.randint(65, (12, 64))

    def step():
        loss = F.cross_entropy(model.head(model.ln(model.hidden(x))).view(-1, 65), y.view(-1))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        loss.item()

    return 12 * 64, step


def cnn():
    model = nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Dropout(0.25), nn.Linear(32 * 7 * 7, 128), nn.ReLU(), nn.Linear(128, 10),
    )
    optimizer = torch.optim.Adam(model.parameters(), fused=True)
    x, y = torch.randn(64, 1, 28, 28), torch.randint(10, (64,))

    def step():
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        loss.item()

    return 64, step


def minilm(batch, length):
    model = Transformer(30522, 512, 6, width=384, heads=12, inner=1536, causal=False, post=True, eps=1e-12, approximate="none").eval()
    ids = torch.randint(1000, 20000, (batch, length))

    @torch.inference_mode()
    def step():
        real = ids.ne(0)
        x = model.hidden(ids, real.view(batch, 1, 1, length))
        weight = real.float().unsqueeze(-1)
        F.normalize((x * weight).sum(1) / weight.sum(1)).sum().item()

    return batch, step


CASES = {"char-gpt": char_gpt, "cnn": cnn, "minilm-32x128": lambda: minilm(32, 128), "minilm-1x16": lambda: minilm(1, 16)}


def torch_rate(items, step, seconds):
    for _ in range(3):
        step()
    start, steps = time.perf_counter(), 0
    while time.perf_counter() - start < seconds:
        step()
        steps += 1
    return steps * items / (time.perf_counter() - start)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mlrun", required=True)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--blocks", type=int, default=3)
    parser.add_argument("cases", nargs="*", default=list(CASES))
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    for name in args.cases:
        items, step = CASES[name]()
        ours, theirs = [], []
        for _ in range(args.blocks):
            command = [args.mlrun, "--threads", str(args.threads), str(HERE / "training.js"), name, str(args.seconds)]
            ours.append(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))
            theirs.append(torch_rate(items, step, args.seconds))
        rate, other = statistics.median(o["rate"] for o in ours), statistics.median(theirs)
        print(f"{name:<14} {args.threads} threads  mlrun {rate:9.1f}/s  torch {other:9.1f}/s  ratio {rate / other:.2f}  "
              f"peak {ours[-1]['peakBytes'] / 1e6:.1f} MB, by the pass {100 * ours[-1]['byPass']:.1f} %", flush=True)


if __name__ == "__main__":
    main()
