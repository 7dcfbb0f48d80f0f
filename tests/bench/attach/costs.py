"""What recording an unmodified job costs: whole jobs, and the start of a Python process. The variants of a round run in
random order; a ratio is taken within its round; shown are median and 95 % interval. `control` is the plain job again:
its interval says what this machine can tell.

costs.py PIPEPROBE start | images ROOT | tokens FILE  [--rounds N] [--batches N] [--beside profiler,traceml]"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))


def interval(values):
    """Median and its 95 % interval by order statistics."""
    v = sorted(values)
    n = len(v)
    k = max(0, int(n / 2 - 0.98 * n**0.5) - 1)
    return v[n // 2], v[k], v[n - 1 - k]


def rounds_of(variants, n, measure):
    """{variant: [what measure(variant) gave in each round]}"""
    got = {name: [] for name in variants}
    for r in range(n):
        names = list(variants)
        random.Random(r).shuffle(names)
        for name in names:
            got[name].append(measure(name))
    return got


def job(a, name, directory):
    command = [sys.executable, HERE + "/loader_job.py", a.what, a.data, "--batches", str(a.batches)]
    if name == "pipeprobe":
        command = [a.pipeprobe, "exec", "-q", "--force", "-o", directory + "/run.sqlite", "--"] + command
    elif name == "profiler":
        command.append("--profiler")
    elif name == "traceml":  # it needs its collector, and a new name for each run
        traceml = os.path.join(os.path.dirname(sys.executable), "traceml")
        around = ["--mode", "summary", "--logs-dir", directory + "/traceml", "--run-name", "run-%d" % time.monotonic_ns()]
        command = [traceml, "run", command[1]] + around + ["--args"] + command[2:] + ["--traceml"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=directory)
    lines = [line for line in done.stdout.decode().splitlines() if line.startswith("{")]
    if done.returncode or not lines:
        sys.exit("%s failed: %s" % (name, done.stderr.decode()[-400:]))
    return json.loads(lines[-1])


def jobs(a):
    names = ["plain", "control", "pipeprobe"] + [n for n in a.beside.split(",") if n]
    with tempfile.TemporaryDirectory() as directory:
        job(a, "plain", directory)  # the data are in the page cache from here on
        got = rounds_of(names, a.rounds, lambda name: job(a, name, directory))
    median = interval([g["samples_per_s"] for g in got["plain"]])[0]
    print("%s, 2 workers: %.0f samples/s, %d rounds of %d batches" % (a.what, median, a.rounds, a.batches))
    print("%-10s %-28s %-28s %12s %12s" % ("over plain", "samples/s", "CPU time per sample", "trainer", "a worker"))
    for name in names[1:]:
        row = "%-10s" % name
        for key in ("samples_per_s", "cpu_us"):
            row += " %.4f (%.4f to %.4f)   " % interval([b[key] / p[key] for p, b in zip(got["plain"], got[name])])
        for key in ("trainer_kib", "worker_kib"):
            row += " %+8.1f MiB" % (interval([(b[key] - p[key]) / 1024 for p, b in zip(got["plain"], got[name])])[0])
        print(row)


def start(a):
    """Runs below pipeprobe exec; `plain` has none of what exec put into the environment."""
    if "PIPEPROBE_SESSION" not in os.environ:
        with tempfile.TemporaryDirectory() as directory:
            again = [sys.executable, os.path.abspath(__file__)] + sys.argv[1:]
            sys.exit(subprocess.call([a.pipeprobe, "exec", "-q", "--force", "-o", directory + "/run.sqlite", "--"] + again))
    plain = {k: v for k, v in os.environ.items() if not k.startswith("PIPEPROBE") and k not in ("LD_PRELOAD", "PYTHONPATH")}

    def measure(name):
        t = time.monotonic()
        subprocess.run([sys.executable, "-c", "pass"], env=os.environ if name == "recorded" else plain)
        return 1000 * (time.monotonic() - t)

    got = rounds_of(["plain", "control", "recorded"], a.rounds, measure)
    print("python -c pass: %.1f ms, %d rounds" % (interval(got["plain"])[0], a.rounds))
    for name in ("control", "recorded"):
        print("%-10s %+.2f ms (%+.2f to %+.2f)" % ((name,) + interval([b - p for p, b in zip(got["plain"], got[name])])))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("pipeprobe", type=os.path.abspath)
    p.add_argument("what", choices=("start", "images", "tokens"))
    p.add_argument("data", nargs="?", type=os.path.abspath)
    p.add_argument("--rounds", type=int, default=12)
    p.add_argument("--batches", type=int, default=60)
    p.add_argument("--beside", default="profiler")
    a = p.parse_args()
    start(a) if a.what == "start" else jobs(a)


if __name__ == "__main__":
    main()
