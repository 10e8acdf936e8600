"""Chains of tiny additions, from JavaScript, beside PyTorch eager.

    python benches/chain.py --mlrun target/debug/mlrun [--rounds 5] [--cpu]

Both run in alternating rounds with one thread; prints the medians of the rounds in nanoseconds an
op and PyTorch's time divided by ours. `--cpu` counts processor time, without what other programs
took: of mlrun that of 260 turns less that of 60, which leaves out its start and what V8 compiles.
"""
import argparse
import json
import pathlib
import resource
import statistics
import subprocess
import time

import torch

CALLS, BLOCKS = 10_000, 9
SIZES = [1, 64, 1024]
SCRIPT = pathlib.Path(__file__).with_name("chain.js")


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


CASES = [("plain", plain), ("recorded", recorded), ("forward and backward", both)]


def peer(clock):
    result = {}
    for n in SIZES:
        x, y, g = torch.randn(n).requires_grad_(), torch.randn(n), torch.ones(n)
        for name, run in CASES:
            times = []
            for block in range(-2, BLOCKS):
                start = clock()
                run(x, y, g)
                if block >= 0:
                    times.append((clock() - start) / CALLS * 1e9)
            result[f"{n} {name}"] = statistics.median(times)
    return result


def run_mlrun(mlrun, *args):
    command = [mlrun, "--threads", "1", SCRIPT, *args]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def processor_time(mlrun, case, turns):
    def used():
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    start = used()
    run_mlrun(mlrun, case, str(turns))
    return used() - start


def ours_by_processor(mlrun):
    result = {}
    for n in SIZES:
        for name, _ in CASES:
            case = f"{n} {name}"
            more, less = processor_time(mlrun, case, 260), processor_time(mlrun, case, 60)
            result[case] = (more - less) / (200 * CALLS) * 1e9
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mlrun", required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cpu", action="store_true")
    args = parser.parse_args()
    torch.set_num_threads(1)
    ours, theirs = [], []
    for _ in range(args.rounds):
        if args.cpu:
            ours.append(ours_by_processor(args.mlrun))
        else:
            ours.append(json.loads(run_mlrun(args.mlrun)))
        theirs.append(peer(time.process_time if args.cpu else time.perf_counter))
    for case in ours[0]:
        a = statistics.median(r[case] for r in ours)
        b = statistics.median(r[case] for r in theirs)
        print(f"{case:28} mlrun {a:7.0f} ns   PyTorch {b:7.0f} ns   ratio {b / a:5.2f}")


if __name__ == "__main__":
    main()
