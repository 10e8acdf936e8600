"""What yields cost a loop of training steps, in processor time of the whole process.

    python benches/memory/yields.py [MLRUN] [ROUNDS]

Runs yields/cost.js in turn with and without --yield; prints seconds for 30,000 steps, sorted, without
what a run of 5,000 takes, how often an interval of 10 ms fired meanwhile, and the ratio of the medians.
"""

import resource
import statistics
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parent / "yields" / "cost.js"
LONG, SHORT = 35_000, 5_000


def seconds(mlrun, flags, steps):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [mlrun, "--threads", "1", *flags, str(SCRIPT), str(steps)]
    ticks = int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, ticks


def main():
    mlrun = sys.argv[1] if len(sys.argv) > 1 else "target/debug/mlrun"
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 9
    found = {"with": [], "without": []}
    fired = 0
    for turn in range(rounds):
        order = list(found) if turn % 2 == 0 else list(found)[::-1]
        for kind in order:
            flags = ["--yield"] if kind == "with" else []
            long, ticks = seconds(mlrun, flags, LONG)
            short, fewer = seconds(mlrun, flags, SHORT)
            found[kind].append(long - short)
            if kind == "with":
                fired += ticks - fewer
    for kind, times in found.items():
        print(f"{kind:<8}", *(f"{t:.2f}" for t in sorted(times)))
    print(f"the interval fired {fired} times in {sum(found['with']):.1f} s")
    print(f"ratio of the medians {statistics.median(found['with']) / statistics.median(found['without']):.3f}")


if __name__ == "__main__":
    main()
