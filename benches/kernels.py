"""Compares CPU kernels with PyTorch's, in alternating blocks of one run.

    cargo build -p mlrun_tensor_cpu --example kernels
    python benches/kernels.py [--server PATH] [--blocks 5] [--millis 80] [FILTER ...]

One line per case and thread count: both medians, and PyTorch's time divided by ours (above 1.0
is faster than PyTorch). Exits 1 where a case misses its bar and --strict is given.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time

import torch
import torch.nn.functional as F

# case, smallest accepted ratio
CASES = [
    ("matmul:64x64x64/NN", 1.2), ("matmul:128x128x128/NN", 1.2), ("matmul:256x256x256/NN", 0.95),
    ("matmul:512x512x512/NN", 0.95), ("matmul:512x512x512/NT", 0.95), ("matmul:512x512x512/TN", 0.95),
    ("matmul:1024x1024x1024/NN", 0.95), ("matmul:2048x2048x2048/NN", 0.95),
    ("matmul:768x128x512/NN", 0.95), ("matmul:768x128x512/NT", 0.95), ("matmul:768x128x512/TN", 0.95),
    ("matmul:24x1024x1024/NN", 0.95), ("matmul:16x1536x384/NN", 0.95), ("matmul:128x768x512/TN", 0.95),
    ("matmul:1x1024x1024/NN", 0.95), ("matmul:1x1024x1024/NT", 0.95),
    ("add:1", 10.0), ("add:64", 10.0), ("add:1024", 10.0),
    ("add:65536", 1.0), ("add:1048576", 1.0), ("add:16777216", 1.0), ("addrow:4096x384", 1.0),
    ("relu:1048576", 1.0), ("exp:65536", 1.0), ("exp:1048576", 1.0), ("tanh:1048576", 1.0),
    ("sigmoid:1048576", 1.0), ("gelu:65536", 2.0), ("gelu:1048576", 2.0), ("gelugrad:1048576", 2.0),
    ("sum:1048576", 1.0), ("sum:4096x384/0", 1.0), ("sum:4096x384/1", 1.0), ("sum:64x512x128/1", 1.0),
    ("mean:4096x384/1", 1.0), ("amax:4096x384/1", 1.0), ("argmax:4096x384/1", 1.0),
    ("softmax:4096x384/1", 1.1), ("logsoftmax:4096x384/1", 1.1), ("softmax:4096x384/0", 1.0),
    ("copy:1048576", 1.0), ("copyT:1024x1024", 1.0), ("copyT:2000x3000", 1.0), ("rows:8192x384", 1.0),
    ("randn:1048576", 1.0), ("adamw:10000000", 1.0),
    ("gelufb:65536", 2.0), ("gelufb:1048576", 2.0), ("gelufb:16777216", 2.0),
    ("softmaxfb:4096x384", 1.1), ("logsoftmaxfb:4096x384", 1.1), ("layernormfb:4096x384", 1.1),
    ("conv2dfb:64x1x28x28/16", 1.0), ("conv2dfb:64x16x14x14/32", 1.0),
    ("conv2dfb:8x128x14x14/128", 1.0), ("conv2dfb:8x256x14x14/256", 1.0), ("conv2dfb:4x512x7x7/512", 1.0),
    ("attentionfb:8x8x256x64/causal", 1.0), ("attentionfb:8x8x256x64/full", 1.0),
]


def both_ways(kind, shape, option):
    """A call with its gradients by all inputs, the first layer's images excepted."""
    x, w, b = torch.randn(shape), torch.randn(shape[-1:]), torch.randn(shape[-1:])
    inputs, call = {
        "gelu": lambda: ([x], lambda x: F.gelu(x, approximate="tanh")),
        "softmax": lambda: ([x], lambda x: torch.softmax(x, -1)),
        "logsoftmax": lambda: ([x], lambda x: torch.log_softmax(x, -1)),
        "layernorm": lambda: ([x, w, b], lambda x, w, b: F.layer_norm(x, shape[-1:], w, b)),
        "conv2d": lambda: (
            [x, torch.randn(int(option), shape[1], 3, 3), torch.randn(int(option))], lambda x, w, b: F.conv2d(x, w, b)
        ),
        "attention": lambda: (
            [x, torch.randn(shape), torch.randn(shape)],
            lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=option == "causal"),
        ),
    }[kind]()
    free = 1 if kind == "conv2d" and shape[1] == 1 else 0
    wanted = [t.requires_grad_() for t in inputs[free:]]
    seed = torch.full_like(call(*inputs), 0.5)
    return lambda: torch.autograd.grad(call(*inputs), wanted, seed)


def torch_case(name):
    kind, rest = name.split(":")
    dims, _, option = rest.partition("/")
    shape = [int(d) for d in dims.split("x")]
    if kind == "matmul":
        m, k, n = shape
        a = torch.randn(k, m).t() if option[0] == "T" else torch.randn(m, k)
        b = torch.randn(n, k).t() if option[1] == "T" else torch.randn(k, n)
        return lambda: torch.mm(a, b)
    if kind.endswith("fb"):
        return both_ways(kind[:-2], shape, option)
    x, y = torch.randn(shape), torch.randn(shape)
    dim = int(option) if option else None
    if kind == "adamw":
        p = torch.nn.Parameter(x)
        p.grad = y
        optimizer = torch.optim.AdamW([p], fused=True)
        return optimizer.step
    if kind == "gelugrad":
        return lambda: torch.ops.aten.gelu_backward(y, x, approximate="tanh")
    row, index = torch.randn(shape[-1:]), torch.arange(shape[0]) * 7919 % shape[0]
    over = {} if dim is None else {"dim": dim}
    transposed = y.t() if len(shape) == 2 else y
    return {
        "add": lambda: x + y,
        "addrow": lambda: x + row,
        "relu": lambda: torch.relu(x),
        "exp": lambda: torch.exp(x),
        "tanh": lambda: torch.tanh(x),
        "sigmoid": lambda: torch.sigmoid(x),
        "gelu": lambda: F.gelu(x, approximate="tanh"),
        "sum": lambda: x.sum(**over),
        "mean": lambda: x.mean(**over),
        "amax": lambda: x.amax(**over),
        "argmax": lambda: x.argmax(**over),
        "softmax": lambda: torch.softmax(x, dim),
        "logsoftmax": lambda: torch.log_softmax(x, dim),
        "copy": lambda: x.clone(),
        "copyT": lambda: transposed.contiguous(),
        "rows": lambda: x.index_select(0, index),
        "randn": lambda: torch.randn(shape),
    }[kind]


# With MLRUN_BENCH_CLOCK=cpu both sides leave out the time that other programs took: one thread only.
CPU = os.environ.get("MLRUN_BENCH_CLOCK") == "cpu"


def median(f, seconds):
    f()
    clock = time.thread_time if CPU else time.perf_counter
    calls, times, begin = 1, [], time.perf_counter()
    while time.perf_counter() - begin < seconds or len(times) < 3:
        t = clock()
        for _ in range(calls):
            f()
        d = clock() - t
        if d < (2e-3 if CPU else 2e-4):
            calls *= 2
        else:
            times.append(d / calls)
    return statistics.median(times)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--server", default="target/debug/examples/kernels")
    parser.add_argument("--blocks", type=int, default=5)
    parser.add_argument("--millis", type=int, default=80)
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--strict", action="store_true")
    parser.add_argument("filters", nargs="*")
    options = parser.parse_args()
    server = subprocess.Popen(
        [options.server, "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    missed = 0
    print(f"PyTorch {torch.__version__}\n{'case':>26} thr {'mlrun':>10} {'PyTorch':>10}  ratio  bar")
    for name, bar in CASES:
        if options.filters and not any(f in name for f in options.filters):
            continue
        for threads in [int(t) for t in options.threads.split(",")]:
            torch.set_num_threads(threads)
            f = torch_case(name)
            ours, theirs = [], []
            for _ in range(options.blocks):
                server.stdin.write(f"{name} {threads} {options.millis}\n")
                server.stdin.flush()
                ours.append(float(server.stdout.readline()) / 1e9)
                theirs.append(median(f, options.millis / 1e3))
            a, b = statistics.median(ours), statistics.median(theirs)
            low = b / a < bar
            missed += low
            print(
                f"{name:>26} {threads:>3} {a * 1e6:>8.2f}us {b * 1e6:>8.2f}us {b / a:>6.2f} {bar:>5}"
                f"{'  MISSED' if low else ''}",
                flush=True,
            )
    server.stdin.close()
    sys.exit(1 if missed and options.strict else 0)


main()
