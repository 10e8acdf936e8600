"""What huge pages are worth to large tensors, in processor time and page faults.

    python benches/memory/pages.py [MLRUN] [ROUNDS]

Runs pages.js in turn as it is and with huge pages switched off for the process (Linux's prctl).
"""

import ctypes
import resource
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parent / "pages.js"
PR_SET_THP_DISABLE = 41


def small_pages():
    ctypes.CDLL(None).prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0)


def run(mlrun, program, before_start):
    start = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [mlrun, "--threads", "1", str(SCRIPT), program]
    done = subprocess.run(command, check=True, capture_output=True, text=True, preexec_fn=before_start)
    return float(done.stdout), resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt - start.ru_minflt


def main():
    mlrun = sys.argv[1] if len(sys.argv) > 1 else "target/debug/mlrun"
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    kinds = {"huge": None, "small": small_pages}
    for program in ["hold", "chain", "matmul"]:
        found = {kind: [] for kind in kinds}
        for turn in range(rounds):
            for kind in list(kinds) if turn % 2 == 0 else list(kinds)[::-1]:
                found[kind].append(run(mlrun, program, kinds[kind]))
        for kind, runs in found.items():
            times = " ".join(f"{ms:.0f}" for ms, _ in sorted(runs))
            print(f"{program:<7} {kind:<6} ms {times}; {runs[0][1]} faults", flush=True)


if __name__ == "__main__":
    main()
