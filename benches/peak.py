"""Peak bytes of tensors in one training step, beside PyTorch's.

PyTorch's are the allocations of 4 KiB and more that its profiler sees, from the making of the model
on; mlrun's are `memoryStats().peakBytes`, which counts small tensors too. `least` is what must be
there at the fullest moment whoever does it: parameters, their gradients, the optimizer's two
moments, and what the derivatives read.

    venv/bin/python benches/peak.py --mlrun target/debug/mlrun [CASE...]
"""
import argparse
import json
import subprocess
from pathlib import Path

import torch
from torch.profiler import ProfilerActivity, profile

import training

HERE = Path(__file__).parent
SMALLEST = 4096


def torch_peak(case):
    torch.set_num_threads(1)
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as prof:
        _, step = training.CASES[case]()
        for _ in range(4):
            step()
    live, peak, sizes = 0, 0, {}
    for event in prof.profiler.kineto_results.events():
        if event.name() != "[memory]" or abs(event.nbytes()) < SMALLEST:
            continue
        live += event.nbytes()
        peak = max(peak, live)
    return peak


def mlrun_peak(binary, case):
    command = [binary, "--threads", "1", str(HERE / "training.js"), case, "1"]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["peakBytes"]


def least_char_gpt():
    width, layers, tokens, vocabulary, context, batch, heads = 128, 4, 768, 65, 64, 12, 4
    parameters = sum(p.numel() for p in training.Transformer(
        vocabulary, context, layers, width=width, heads=heads, inner=4 * width, causal=True, post=False, eps=1e-5, approximate="tanh").parameters())
    # Inputs of the two norms, their outputs, q k v, the attention's output, and the two of the MLP.
    block = tokens * (2 * width + 2 * width + 3 * width + width + 4 * width + 4 * width)
    saved = layers * block + tokens * (2 * width + vocabulary)
    return 4 * (4 * parameters + saved)


def least_cnn():
    parameters = sum(p.numel() for p in training.nn.Sequential(
        training.nn.Conv2d(1, 16, 3), training.nn.BatchNorm2d(16), training.nn.Conv2d(16, 32, 3), training.nn.BatchNorm2d(32),
        training.nn.Linear(1568, 128), training.nn.Linear(128, 10)).parameters())
    # Inputs of convolutions, norms and pools, the pools' winners as int64, the dropout's mask, the two of the classifier.
    first = 64 * 28 * 28 * (1 + 16 + 16) + 64 * 14 * 14 * 16 * 3
    second = 64 * 14 * 14 * 32 * 2 + 64 * 7 * 7 * 32 * 3
    return 4 * (4 * parameters + first + second + 64 * (1568 * 2 + 128 + 10))


LEAST = {"char-gpt": least_char_gpt, "cnn": least_cnn}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mlrun", required=True)
    parser.add_argument("cases", nargs="*", default=list(LEAST))
    args = parser.parse_args()
    for case in args.cases:
        ours, theirs, least = mlrun_peak(args.mlrun, case), torch_peak(case), LEAST[case]()
        print(f"{case:<10} mlrun {ours / 1e6:6.1f} MB  torch {theirs / 1e6:6.1f} MB  least {least / 1e6:6.1f} MB", flush=True)


if __name__ == "__main__":
    main()
