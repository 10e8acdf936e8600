"""Chains of tiny additions, from JavaScript, beside PyTorch eager.

    python benches/chain.py --mlrun target/debug/mlrun [--rounds 5]

Both run in alternating rounds with one thread; prints the medians of the rounds in nanoseconds an
op and PyTorch's time divided by ours.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import time

import torch

CALLS, BLOCKS = 10_000, 9


def chain(x, y):
    for _ in range(CALLS):
        x = x.add(y)
    return x


def plain(x, y, g):
    with torch.no_grad():
        chain(x, y)[0].item()


def recorded(x, y, g):
    chain(x, y)[0].item()


def both(x, y, g):
    chain(x, y).backward(g)
    x.grad = None


def peer():
    result = {}
    for n in [1, 64, 1024]:
        x, y, g = torch.randn(n).requires_grad_(), torch.randn(n), torch.ones(n)
        for name, run in [("plain", plain), ("recorded", recorded), ("forward and backward", both)]:
            times = []
            for block in range(-2, BLOCKS):
                start = time.perf_counter()
                run(x, y, g)
                if block >= 0:
                    times.append((time.perf_counter() - start) / CALLS * 1e9)
            result[f"{n} {name}"] = statistics.median(times)
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mlrun", required=True)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    torch.set_num_threads(1)
    script = pathlib.Path(__file__).with_name("chain.js")
    ours, theirs = [], []
    for _ in range(args.rounds):
        out = subprocess.run([args.mlrun, "--threads", "1", script], capture_output=True, text=True, check=True)
        ours.append(json.loads(out.stdout))
        theirs.append(peer())
    for case in ours[0]:
        a = statistics.median(r[case] for r in ours)
        b = statistics.median(r[case] for r in theirs)
        print(f"{case:28} mlrun {a:7.0f} ns   PyTorch {b:7.0f} ns   ratio {b / a:5.2f}")


if __name__ == "__main__":
    main()
