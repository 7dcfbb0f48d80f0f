#!/usr/bin/env python3
"""live.py PIPEPROBE [ONLY]: what `exec --tune` makes of jobs of the grid (grid.py's table) while they run.

BAD began with too few workers or batches: a job runs for SECONDS under `exec --tune`; what it ended with, what it began with and SETTINGS, which are all that
a loader that runs can have, then take turns without it, ROUNDS times. Right: at least 95 % of the best rate, after three decisions or fewer. NOTHING gains
nothing: SECONDS under `exec`, twice under `exec --tune` and under `exec` again, ROUNDS times; the second `exec` over the first is the control. Right: at
least 0.98 of the rate. SETS: "bad nothing". An idle machine is needed."""
import os
import re
import statistics
import subprocess
import sys

from grid import HERE, JOBS, KEEP, rates

SECONDS, ROUNDS = float(os.environ.get("TUNED", 60)), int(os.environ.get("ROUNDS", 2))
SETTINGS = ["num_workers=%d" % n for n in (1, 2, 4, 8, 16)] + ["num_workers=%d,prefetch_factor=%d" % s for s in ((2, 8), (4, 8), (8, 4))]
# Names of jobs, each with where it begins.
BAD = [(name, "num_workers=%d" % n) for name in ("waits_one_worker", "waits_long", "waits_a_little", "both_one_worker", "both_evenly") for n in (1, 2)]
BAD += [(name, "num_workers=1") for name in ("waits_two_workers", "waits_beside_long_steps", "cpu_one_worker", "cpu_long_steps", "in_time_for_two")]
FEW_BATCHES = ("waits_two_workers", "late_samples_often", "uneven_samples", "cpu_one_worker", "both_one_worker")
BAD += [(name, "num_workers=1,prefetch_factor=1") for name in FEW_BATCHES]
NOTHING = [(name, "num_workers=%d" % n) for name in ("steps_long", "steps_of_a_device", "steps_of_the_cpu", "one_at_a_time", "in_time_for_two") for n in (4, 6)]
NOTHING += [(name, "num_workers=2") for name in ("work_on_all_cpus", "collating_on_all_cpus", "steps_of_a_device", "steps_of_the_cpu", "tiny_samples")]
NOTHING += [(name, "num_workers=8") for name in ("steps_long", "waits_beside_long_steps", "in_time_for_two", "cpu_long_steps", "one_at_a_time")]


def recorded(pipeprobe, name, start, *options):
    """(rate, what it ended with, decisions) of a job under exec."""
    file = os.path.join(KEEP, "live.sqlite")
    words = [pipeprobe, "exec", *options, "-o", file, "--force", "--", sys.executable, os.path.join(HERE, "job.py"), name, str(SECONDS), start]
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=True)
    sql = "SELECT value FROM meta WHERE section = 'loader_change' AND (value LIKE '%why=kept%' OR value LIKE '%why=undone%') ORDER BY key"
    rows = subprocess.check_output(["sqlite3", file, sql], text=True).splitlines()
    kept = [re.sub(r".*(num_workers=\d+) (prefetch_factor=\d+).*", r"\1,\2", row) for row in rows if "why=kept" in row]
    return float(re.search(r"rate ([0-9.]+)", done.stdout).group(1)), kept[-1] if kept else start, len(rows)


def main():
    only = sys.argv[2] if len(sys.argv) > 2 else ""
    os.makedirs(KEEP, exist_ok=True)
    sets = os.environ.get("SETS", "bad nothing").split()
    right, judged = 0, [job for job in BAD if "bad" in sets and re.search(only, job[0])]
    for name, start in judged:
        assert name in JOBS
        _, end, decisions = recorded(sys.argv[1], name, start, "--tune")
        measured = rates(name, list(dict.fromkeys([start, end, *SETTINGS])))
        best = max(measured, key=measured.get)
        part = measured[end] / measured[best]
        right += part >= 0.95 and decisions <= 3
        print("%-24s %-34s -> %-34s %3.0f%% of %s, %d decisions" % (name, start, end, 100 * part, best, decisions), flush=True)
    print("at least 95 %% of the best rate within 3 decisions: %d of %d" % (right, len(judged)))
    right, judged = 0, [job for job in NOTHING if "nothing" in sets and re.search(only, job[0])]
    for name, start in judged:
        parts, controls = [], []
        for _ in range(ROUNDS):
            first, *tuned, last = (recorded(sys.argv[1], name, start, *options)[0] for options in ((), ("--tune",), ("--tune",), ()))
            parts.append((tuned[0] * tuned[1] / first / last) ** 0.5)
            controls.append(last / first)
        right += statistics.median(parts) >= 0.98
        print("%-24s %-34s %.3f, control %.3f to %.3f" % (name, start, statistics.median(parts), min(controls), max(controls)), flush=True)
    print("at least 0.98 of the rate where nothing gains: %d of %d" % (right, len(judged)))


if __name__ == "__main__":
    main()
