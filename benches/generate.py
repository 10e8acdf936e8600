"""Generation with a KV cache beside PyTorch: one token at a time from a small GPT, batch 1.

Blocks of mlrun and PyTorch alternate; both sides keep keys and values per layer, concatenate one
step, and draw by Gumbel noise.

    venv/bin/python benches/generate.py --mlrun target/debug/mlrun [--threads 1] [--seconds 5]
"""
import argparse
import json
import statistics
import subprocess
import time
from pathlib import Path

import torch
import torch.nn.functional as F

import training

HERE = Path(__file__).parent
CONTEXT, LAYERS = 64, 4


def attend(block, x, cache):
    b, t, c = x.shape
    q, k, v = (z.view(b, t, block.heads, c // block.heads).transpose(1, 2) for z in block.qkv(x).chunk(3, -1))
    if cache:
        k, v = torch.cat([cache[0], k], 2), torch.cat([cache[1], v], 2)
    cache[:] = [k, v]
    y = F.scaled_dot_product_attention(q, k, v, is_causal=t > 1)
    return block.proj(y.transpose(1, 2).reshape(b, t, c))


@torch.inference_mode()
def generate(model, text, count, temperature=0.8):
    out, caches, known = list(text), None, 0
    for _ in range(count):
        if caches is None or known == CONTEXT:
            caches, known = [[] for _ in range(LAYERS)], 0
        new = out[-CONTEXT // 2:] if known == 0 else out[-1:]
        x = model.wte(torch.tensor([new])) + model.wpe(torch.arange(known, known + len(new)))
        known += len(new)
        for block, cache in zip(model.blocks, caches):
            x = x + attend(block, block.ln1(x), cache)
            x = x + block.mlp(block.ln2(x))
        logits = model.head(model.ln(x))[0, -1]
        noise = -torch.log(-torch.log(torch.rand(logits.shape)))
        out.append(int((logits / temperature + noise).argmax()))
    return out


def torch_rate(model, seconds):
    text, tokens = list(range(16)), 0
    generate(model, text, 64)
    start = time.perf_counter()
    while time.perf_counter() - start < seconds:
        generate(model, text, 32)
        tokens += 32
    return tokens / (time.perf_counter() - start)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mlrun", required=True)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--blocks", type=int, default=3)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    model = training.Transformer(65, CONTEXT, LAYERS, width=128, heads=4, inner=512, causal=True, post=False, eps=1e-5, approximate="tanh").eval()
    ours, theirs = [], []
    for _ in range(args.blocks):
        command = [args.mlrun, "--threads", str(args.threads), str(HERE / "generate.js"), str(args.seconds)]
        ours.append(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["rate"])
        theirs.append(torch_rate(model, args.seconds))
    rate, other = statistics.median(ours), statistics.median(theirs)
    print(f"generation  {args.threads} threads  mlrun {rate:8.1f} tokens/s  torch {other:8.1f} tokens/s  ratio {rate / other:.2f}")


if __name__ == "__main__":
    main()
