"""What the ownership pass costs a chain of ten ops, in processor time: for machines that do other things.

usage: ownership.py [MLRUN] [ROUNDS]

Runs ownership.js in turn with temporaries released by the pass and by hand; prints nanoseconds an op,
sorted, without what a short run takes, and the ratio of the medians.
"""

import os
import subprocess
import sys

TURNS, SHORT, OPS = 200_000, 1_000, 10
mlrun = sys.argv[1] if len(sys.argv) > 1 else "mlrun"
rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 7
script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "ownership.js")


def seconds(who, turns):
    flags = ["--no-ownership"] if who == "hand" else []
    process = subprocess.Popen([mlrun, *flags, script, who, str(turns)])
    _, status, used = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"ownership.js {who}: status {status}")
    return used.ru_utime + used.ru_stime


times = {"pass": [], "hand": []}
for _ in range(rounds):
    for who, found in times.items():
        found.append((seconds(who, TURNS) - seconds(who, SHORT)) / (TURNS - SHORT) / OPS * 1e9)
medians = {who: sorted(found)[rounds // 2] for who, found in times.items()}
for who, found in times.items():
    print(who, *(f"{t:.0f}" for t in sorted(found)))
print(f"ratio of the medians {medians['pass'] / medians['hand']:.2f}")
