"""Compares CPU kernels with PyTorch's, in alternating blocks of one run.

    cargo build -p mlrun_tensor_cpu --example kernels
    python benches/kernels.py [--server PATH] [--blocks 5] [--millis 80] [FILTER ...]

One line per case and thread count: both medians, and PyTorch's time divided by ours (above 1.0
is faster than PyTorch). Exits 1 where a case misses its bar and --strict is given.
"""

import argparse
import math
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
    ("addcol:4096x384", 1.0), ("addrow:65536x16", 1.0), ("addnum:1048576", 1.0), ("add.float64:1048576", 1.0),
    ("add.int32:1048576", 1.0), ("add.float16:1048576", 1.0), ("mul:65536", 1.0), ("div:1048576", 1.0),
    ("maximum:1048576", 1.0), ("less:1048576", 1.0), ("equalnum.int64:1048576", 1.0), ("where:1048576", 1.0),
    ("maskedfill:1048576", 1.0), ("sqrt:1048576", 1.0), ("square:1048576", 1.0), ("sin:1048576", 1.0),
    ("silu:1048576", 1.0), ("gelu2:1048576", 1.0), ("log1p:1048576", 1.0), ("exp.float64:1048576", 1.0),
    ("relu:1048576", 1.0), ("exp:65536", 1.0), ("exp:1048576", 1.0), ("tanh:1048576", 1.0),
    ("sigmoid:1048576", 1.0), ("gelu:65536", 2.0), ("gelu:1048576", 2.0), ("gelugrad:1048576", 2.0),
    ("sum:1048576", 1.0), ("sum:4096x384/0", 1.0), ("sum:4096x384/1", 1.0), ("sum:64x512x128/1", 1.0),
    ("sum:64x128x512/0,2", 1.0), ("sum:32x64x28x28/0,2,3", 1.0), ("sum:256x16x64/1", 1.0), ("sum:65536x16/1", 1.0),
    ("sum:65536x16/0", 1.0), ("sum.float64:64x512x128/1", 1.0), ("sum.float64:4096x384/1", 1.0),
    ("sum.int32:64x512x128/1", 1.0), ("sum.int64:4096x384/1", 1.0), ("sum.float16:4096x384/1", 1.0),
    ("mean:4096x384/1", 1.0), ("mean:64x512x128/1", 1.0), ("amax:4096x384/1", 1.0), ("amax:4096x384/0", 1.0),
    ("amax:64x512x128/1", 1.0), ("amin:4096x384/1", 1.0), ("amax.float64:4096x384/1", 1.0),
    ("amax.int32:4096x384/1", 1.0), ("amax.int32:64x512x128/1", 1.0), ("amax:1048576", 1.0),
    ("prod:64x512x128/1", 1.0), ("argmax:4096x384/1", 1.0), ("argmax:64x512x128/1", 1.0), ("argmax:4096x384/0", 1.0),
    ("argmax.int32:4096x384/1", 1.0), ("argmax:1048576", 1.0), ("maxdim:4096x384/1", 1.0), ("maxdim:64x512x128/1", 1.0),
    ("var:4096x384/1", 1.0), ("var:64x512x128/1", 1.0), ("var:4096x384/0", 1.0), ("std:4096x384/1", 1.0),
    ("var:1048576", 1.0), ("norm:4096x384/1", 1.0), ("norm:64x512x128/1", 1.0), ("norm:1048576", 1.0),
    ("norm1:4096x384/1", 1.0), ("logsumexp:4096x384/1", 1.0), ("logsumexp:64x512x128/1", 1.0), ("any.int32:4096x384/1", 1.0),
    ("softmax:4096x384/1", 1.1), ("logsoftmax:4096x384/1", 1.1), ("softmax:4096x384/0", 1.0),
    ("softmax:64x512x128/1", 1.0), ("copy:1048576", 1.0), ("copyT:1024x1024", 1.0), ("copyT:2000x3000", 1.0),
    ("copyT.float64:1024x1024", 1.0), ("copyT.float16:1024x1024", 1.0), ("permute:8x256x8x64/0,2,1,3", 1.0),
    ("permute:8x8x256x64/0,1,3,2", 1.0), ("permute:32x64x28x28/0,2,3,1", 1.0), ("permute:32x28x28x64/0,3,1,2", 1.0),
    ("permute:64x512x128/2,1,0", 1.0), ("expand:4096x384", 1.0), ("every2nd:4096x384", 1.0),
    ("cast:1048576/float64", 1.0), ("cast:1048576/float16", 1.0), ("cast:1048576/bfloat16", 1.0),
    ("cast:1048576/int64", 1.0), ("cast.int64:1048576/float32", 1.0), ("cast.float16:1048576/float32", 1.0),
    ("cat:4096x384/0", 1.0), ("cat:4096x384/1", 1.0), ("cat:65536x16/1", 1.0), ("stack:4096x384/0", 1.0), ("stack:4096x384/1", 1.0),
    ("stack:4096x384/2", 1.0), ("flip:4096x384/0", 1.0), ("flip:4096x384/1", 1.0), ("tril:1024x1024", 1.0),
    ("cumsum:4096x384/1", 1.0), ("cumsum:4096x384/0", 1.0), ("cumsum:1048576", 1.0), ("cumprod:4096x384/1", 1.0),
    ("sort:4096x384/1", 1.0), ("sort:4096x384/0", 1.0), ("sort:1048576", 1.0), ("sort.int64:1048576", 1.0),
    ("argsort:4096x384/1", 1.0), ("topk:4096x384/10", 1.0), ("topk:64x32000/50", 1.0), ("nonzero:1048576", 1.0),
    ("rows:8192x384", 1.0), ("rows:65536x16", 1.0), ("fewrows:8192x384", 1.0), ("select:4096x384/1", 1.0),
    ("embedding:32000x384/2048", 1.0), ("gather:4096x384/1", 1.0), ("gather:4096x384/0", 1.0),
    ("scatteradd:4096x384/1", 1.0), ("scatteradd:4096x384/0", 1.0), ("indexadd:8192x384", 1.0),
    ("rowsfb:8192x384", 1.0), ("fewrowsfb:8192x384", 1.0), ("embeddingfb:32000x384/2048", 1.0), ("gatherfb:4096x384/1", 1.0),
    ("randn:1048576", 1.0), ("adamw:10000000", 1.0),
    ("crossentropyfb:2048x32000", 1.0), ("crossentropyfb:4096x384", 1.0), ("msefb:4096x384", 1.0),
    ("sumfb:4096x384/1", 1.0), ("amaxfb:4096x384/1", 1.0), ("varfb:4096x384/1", 1.0), ("normfb:4096x384/1", 1.0),
    ("logsumexpfb:4096x384/1", 1.0), ("cumsumfb:4096x384/1", 1.0), ("catfb:4096x384/1", 1.0), ("addrowfb:4096x384", 1.0),
    ("gelufb:65536", 2.0), ("gelufb:1048576", 2.0), ("gelufb:16777216", 2.0),
    ("softmaxfb:4096x384", 1.1), ("logsoftmaxfb:4096x384", 1.1), ("layernormfb:4096x384", 1.1),
    ("conv2dfb:64x1x28x28/16", 1.0), ("conv2dfb:64x16x14x14/32", 1.0),
    ("conv2dfb:8x128x14x14/128", 1.0), ("conv2dfb:8x256x14x14/256", 1.0), ("conv2dfb:4x512x7x7/512", 1.0),
    ("attentionfb:8x8x256x64/causal", 1.0), ("attentionfb:8x8x256x64/full", 1.0),
]


def tensor(shape, dtype):
    """Random numbers; whole ones lie between -100 and 100 or so."""
    return torch.randn(shape).to(dtype) if dtype.is_floating_point else (torch.randn(shape) * 40).to(dtype)


def index(shape, below):
    return (torch.arange(math.prod(shape)) * 7919 % below).reshape(shape)


# Rows of the short index: each is read many times.
FEW = 50


def parts(shape, dtype, option, dim):
    """What the letters of a case's operands stand for; made when they are asked for."""
    n, last, channels = shape[0], shape[-1], shape[1] if len(shape) > 1 else 1

    def make(*extents):
        return lambda: tensor(list(extents), dtype)

    def image_weight():
        return tensor([int(option), channels, 3, 3], dtype)

    return {
        "x": make(*shape),
        "y": make(*shape),
        "z": make(*shape),
        "r": make(last),
        "s": make(last),
        "c": make(*shape[:-1], 1),
        "k": image_weight,
        "b": lambda: tensor([int(option)], dtype),
        "m": lambda: tensor(shape, dtype) < tensor(shape, dtype),
        "t": lambda: index(shape[:1], last),
        "R": lambda: index([n], n),
        "F": lambda: index([n], FEW),
        "A": lambda: index([shape[dim]], shape[dim]),
        "E": lambda: index([int(option)], n),
        "I": lambda: index(shape, shape[dim]),
    }


ELEMENTWISE = {
    "add": ("xy", torch.add),
    "addrow": ("xr", torch.add),
    "addcol": ("xc", torch.add),
    "addnum": ("x", lambda x: x + 2.0),
    "mul": ("xy", torch.mul),
    "div": ("xy", torch.div),
    "maximum": ("xy", torch.maximum),
    "less": ("xy", torch.lt),
    "equalnum": ("x", lambda x: x == 2.0),
    "where": ("mxy", torch.where),
    "maskedfill": ("xm", lambda x, m: x.masked_fill(m, 0.0)),
    "relu": ("x", torch.relu),
    "exp": ("x", torch.exp),
    "tanh": ("x", torch.tanh),
    "sigmoid": ("x", torch.sigmoid),
    "gelu": ("x", lambda x: F.gelu(x, approximate="tanh")),
    "gelu2": ("x", F.gelu),
    "silu": ("x", F.silu),
    "sqrt": ("x", torch.sqrt),
    "sin": ("x", torch.sin),
    "log1p": ("x", torch.log1p),
    "square": ("x", torch.square),
    "gelugrad": ("xy", lambda x, y: torch.ops.aten.gelu_backward(y, x, approximate="tanh")),
    "mse": ("xy", F.mse_loss),
}


def reductions(shape, dims):
    over = {"dim": dims} if dims else {}
    one = {"dim": dims[0]} if dims else {}
    every = dims or list(range(len(shape)))
    return {
        "sum": ("x", lambda x: x.sum(**over)),
        "mean": ("x", lambda x: x.mean(**over)),
        "amax": ("x", lambda x: x.amax(**over)),
        "amin": ("x", lambda x: x.amin(**over)),
        "prod": ("x", lambda x: x.prod(**one)),
        "argmax": ("x", lambda x: x.argmax(**one)),
        "argmin": ("x", lambda x: x.argmin(**one)),
        "any": ("x", lambda x: x.any(**one)),
        "logsumexp": ("x", lambda x: x.logsumexp(every)),
        "var": ("x", lambda x: x.var(**over)),
        "std": ("x", lambda x: x.std(**over)),
        "norm": ("x", lambda x: torch.linalg.vector_norm(x, 2, **over)),
        "norm1": ("x", lambda x: torch.linalg.vector_norm(x, 1, **over)),
        "maxdim": ("x", lambda x: x.max(**one)),
    }


def movements(shape, option, dims, dim):
    return {
        "copy": ("x", torch.clone),
        "copyT": ("x", lambda x: x.mT.contiguous()),
        "permute": ("x", lambda x: x.permute(dims).contiguous()),
        "expand": ("c", lambda c: c.expand(shape).contiguous()),
        "every2nd": ("x", lambda x: x[..., ::2].contiguous()),
        "cast": ("x", lambda x: x.to(getattr(torch, option))),
        "cat": ("xy", lambda x, y: torch.cat([x, y], dim)),
        "stack": ("xy", lambda x, y: torch.stack([x, y], dim)),
        "flip": ("x", lambda x: x.flip(dims)),
        "tril": ("x", torch.tril),
        "cumsum": ("x", lambda x: x.cumsum(dim)),
        "cumprod": ("x", lambda x: x.cumprod(dim)),
        # mlrun's sorts are stable.
        "sort": ("x", lambda x: x.sort(dim=dim, stable=True)),
        "argsort": ("x", lambda x: x.argsort(dim=dim, stable=True)),
        "topk": ("x", lambda x: x.topk(int(option))),
        "nonzero": ("m", torch.nonzero),
        "rows": ("xR", lambda x, i: x.index_select(0, i)),
        "fewrows": ("xF", lambda x, i: x.index_select(0, i)),
        "select": ("xA", lambda x, i: x.index_select(dim, i)),
        "embedding": ("Ex", F.embedding),
        "gather": ("xI", lambda x, i: x.gather(dim, i)),
        "scatteradd": ("xIy", lambda x, i, y: x.scatter_add(dim, i, y)),
        "indexadd": ("xFy", lambda x, i, y: x.index_add(0, i, y)),
    }


def layers(shape, option, dim):
    return {
        "softmax": ("x", lambda x: torch.softmax(x, dim)),
        "logsoftmax": ("x", lambda x: torch.log_softmax(x, dim)),
        "layernorm": ("xrs", lambda x, w, b: F.layer_norm(x, shape[-1:], w, b)),
        "conv2d": ("xkb", F.conv2d),
        "attention": ("xyz", lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=option == "causal")),
        "crossentropy": ("xt", F.cross_entropy),
    }


def matmul(shape, dtype, option):
    m, k, n = shape
    a = tensor([k, m], dtype).t() if option[0] == "T" else tensor([m, k], dtype)
    b = tensor([n, k], dtype).t() if option[1] == "T" else tensor([k, n], dtype)
    return lambda: torch.mm(a, b)


def adamw(shape, dtype):
    p = torch.nn.Parameter(tensor(shape, dtype))
    p.grad = tensor(shape, dtype)
    return torch.optim.AdamW([p], fused=True).step


def torch_case(name):
    """What `KIND[.DTYPE]:SHAPE[/OPTION]` calls; kinds that end in `fb` with their inputs' gradients."""
    kind, rest = name.split(":")
    kind, _, dtype = kind.partition(".")
    extents, _, option = rest.partition("/")
    shape, dtype = [int(d) for d in extents.split("x")], getattr(torch, dtype or "float32")
    dims = [int(d) for d in option.split(",") if d.isdigit()]
    dim = dims[0] if dims and dims[0] < len(shape) else len(shape) - 1
    if kind == "matmul":
        return matmul(shape, dtype, option)
    if kind == "adamw":
        return adamw(shape, dtype)
    if kind == "randn":
        return lambda: torch.randn(shape)
    known = {**ELEMENTWISE, **reductions(shape, dims), **movements(shape, option, dims, dim), **layers(shape, option, dim)}
    letters, call = known[kind.removesuffix("fb")]
    make = parts(shape, dtype, option, dim)
    inputs = [make[letter]() for letter in letters]
    if not kind.endswith("fb"):
        return lambda: call(*inputs)
    # Images have no gradient of their own in the first layer.
    image = call is F.conv2d and shape[1] == 1
    wanted = [t.requires_grad_() for t in inputs if t.dtype.is_floating_point and not (image and t is inputs[0])]
    seed = torch.full_like(call(*inputs), 0.5)
    return lambda: torch.autograd.grad(call(*inputs), wanted, seed)


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
