"""The same small programs on mlrun and its peers: how far the memory of the process grows after its
first step, and whether it goes on growing.

    python benches/memory/compare.py --mlrun target/debug/mlrun [--python venv/bin/python]
        [--tfjs FOLDER] [--steps 2000] [--only SYSTEM] [PROGRAM...]

`--tfjs` names a folder where `npm install @tensorflow/tfjs` was run; `--python` one with torch.
Anonymous resident memory is read from outside, every 5 ms: pages of an executable that are read in
when a part of it first runs (an optimizing compiler) are nothing that a program holds. Per line: the
value at the moment after the first step (what a system loaded before belongs to it), the highest value
above that, and the slope of the second half (least squares), in MB per 1,000 steps.
"""
import argparse
import shutil
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
PROGRAMS = ["drop", "chain", "window", "training"]


def resident(pid):
    try:
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("RssAnon:"):
                return int(line.split()[1]) / 1024
    except OSError:
        pass
    return None


def measure(command, steps, cwd=None):
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=cwd)
    if child.stdout.readline().strip() != "start":
        return None, child.communicate()[1].strip().splitlines()[-1:]
    base, samples = resident(child.pid), []
    start = time.monotonic()
    while child.poll() is None:
        now = resident(child.pid)
        if now:
            samples.append((time.monotonic() - start, now))
        time.sleep(0.005)
    if child.returncode != 0 or len(samples) < 4:
        return None, child.communicate()[1].strip().splitlines()[-1:] or ["too short to be measured"]
    half = samples[len(samples) // 2:-1]
    mean_t, mean_m = (sum(s[i] for s in half) / len(half) for i in (0, 1))
    spread = sum((t - mean_t) ** 2 for t, _ in half) or 1
    per_second = sum((t - mean_t) * (m - mean_m) for t, m in half) / spread
    seconds_per_1000 = samples[-1][0] / steps * 1000
    return (base, max(m for _, m in samples) - base, per_second * seconds_per_1000, samples[-1][0]), None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--mlrun", required=True)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--tfjs")
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--only", action="append", help="a system of the table")
    parser.add_argument("programs", nargs="*", default=PROGRAMS)
    args = parser.parse_args()
    steps = str(args.steps)
    mlrun = str(Path(args.mlrun).resolve())
    systems = {
        "mlrun": lambda name: [mlrun, "--threads", "2", str(HERE / "mlrun.js"), name, steps],
        "mlrun --no-ownership": lambda name: [mlrun, "--no-ownership", "--threads", "2", str(HERE / "mlrun.js"), name, steps],
        "PyTorch": lambda name: [args.python, str(HERE / "torch_programs.py"), name, steps],
    }
    if args.tfjs:
        # Node resolves packages from the file's own folder.
        shutil.copy(HERE / "tfjs.mjs", Path(args.tfjs) / "mlrun-compare.mjs")
        systems["TensorFlow.js"] = lambda name: ["node", str(Path(args.tfjs) / "mlrun-compare.mjs"), name, steps]
    print(f"{'program':<10} {'system':<22} {'base MB':>8} {'growth MB':>10} {'slope MB/1000':>14} {'seconds':>8}")
    for name in args.programs:
        for system, command in systems.items():
            if args.only and system not in args.only:
                continue
            result, problem = measure(command(name), args.steps)
            if result is None:
                print(f"{name:<10} {system:<22} {problem}")
                continue
            base, growth, slope, seconds = result
            print(f"{name:<10} {system:<22} {base:>8.1f} {growth:>10.1f} {slope:>14.2f} {seconds:>8.1f}", flush=True)


if __name__ == "__main__":
    main()
