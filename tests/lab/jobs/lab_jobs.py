"""Labelled stalls in unmodified PyTorch jobs: what pipeprobe exec says of each, and what really helps. A kind has a job, the
class that its cause belongs to, and a remedy: the same job without the cause. Truth comes from runs, not from the label:

  stall    the remedy, or a knob that the class names, gains at least 15 %, and no other single knob more (3 points for noise)
  control  no knob gains more than 3 %

A kind whose label its runs refute is counted apart, and its verdict is judged by neither. Knobs are workers x2, prefetch x8,
persistent workers. Each is run ROUNDS times in turn with the job as it is; medians count.

--traceml PYTHON runs each job once more under TraceML, and shows what that says; the job gets the two lines that TraceML asks for, and no other.

lab_jobs.py PIPEPROBE SLOW_FS MAKE_DATASET [--seeds N] [--only A,B] [--rounds N] [--seconds S] [--no-truth] [--keep DIR] [--traceml PYTHON]"""

import argparse
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time

import numpy

HERE = os.path.dirname(os.path.abspath(__file__))
FIX_GAIN, SAME_GAIN = 0.15, 0.03
BATCH = 16  # stalled_job.py's


class Kind:
    def __init__(self, name, l1, options, remedy=None, data="images", mount=None, hogs=0, fixes=(), pace=None):
        self.pace = pace  # step over the time in which the loader alone makes a batch, on this machine
        self.name, self.l1, self.options, self.data, self.mount, self.hogs, self.fixes = name, l1, options, data, mount, hogs, fixes
        self.remedy = remedy  # {option: value}, "mount", "hogs" or a data set


FAST = {"step-ms": 2}
KINDS = [
    Kind("one-worker", "loader", {"workers": 1, "step-ms": 5}, {"workers": 2}, fixes=["workers"]),
    Kind("no-workers", "loader", {"workers": 0, "step-ms": 40}, {"workers": 2}, fixes=["workers"]),
    Kind("large-images", "transform", {**FAST, "workers": 2}, "small", data="large"),
    Kind("blur", "transform", {**FAST, "workers": 2, "blur": 2}, {"blur": 0}),
    Kind("collate", "transform", {**FAST, "workers": 2, "collate": 150}, {"collate": 0}),
    Kind("large-crop", "transform", {**FAST, "workers": 2, "crop": 448}, {"crop": 64}),
    Kind("slow-reads", "storage", {"workers": 2}, "mount", mount="read_ms=15", fixes=["workers"]),
    Kind("slow-opens", "storage", {"workers": 2}, "mount", mount="open_ms=20", fixes=["workers"]),
    Kind("slow-lookups", "storage", {"workers": 2}, "mount", mount="lookup_ms=10", fixes=["workers"]),
    Kind("slow-link", "storage", {"workers": 2}, "mount", mount="bandwidth=4000000"),
    Kind("slow-arrays", "storage", {"workers": 2, "kind": "arrays"}, "mount", data="arrays", mount="read_ms=8", fixes=["workers"]),
    Kind("slow-mapped", "storage", {"workers": 2, "kind": "mapped"}, "mount", data="arrays", mount="read_ms=5", fixes=["workers"]),
    Kind("lock", "loader", {"workers": 2, "lock": 6}, {"lock": 0}),
    Kind("odd-samples", "loader", {"workers": 2, "odd": 700, "prefetch": 1, "step-ms": 250, "batch": 8}, {"odd": 0}, fixes=["prefetch"]),
    Kind("short-epochs", "loader", {"workers": 2, "epoch-batches": 8, "step-ms": 30, "start": "spawn"}, {"persistent": True}, fixes=["persistent"]),
    Kind("neighbours", "transform", {"workers": 2}, "hogs", hogs=3, pace=1.2),
    Kind("control-slow-step", None, {"workers": 2, "step-ms": 150}),
    Kind("control-arrays", None, {"workers": 2, "step-ms": 60, "kind": "arrays"}, data="arrays"),
    Kind("control-slow-reads", None, {"workers": 2, "step-ms": 400}, mount="read_ms=5"),
    Kind("control-one-worker", None, {"workers": 1, "step-ms": 300}),
]


def make_data(a, place):
    sizes = {"images": "320x240", "small": "160x120", "large": "1280x960"}
    for name, size in sizes.items():
        subprocess.run([a.make_dataset, place + "/" + name, "--n", "600", "--size", size], check=True, stdout=subprocess.DEVNULL)
    os.mkdir(place + "/arrays")
    for i in range(24):
        numpy.save("%s/arrays/%03d.npy" % (place, i), numpy.random.default_rng(i).integers(0, 256, (32, 98304), numpy.uint8))


class Around:
    """The slow mount and the hogs of a run."""

    def __init__(self, a, source, mount, hogs, place):
        self.a, self.source, self.mount, self.hogs, self.place = a, source, mount, hogs, place
        self.running = []

    def __enter__(self):
        self.running = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(self.hogs)]
        if not self.mount:
            return self.source
        at = self.place + "/slow"
        os.makedirs(at, exist_ok=True)
        self.running.append(subprocess.Popen([self.a.slow_fs, self.source, at, "-o", self.mount]))
        for _ in range(200):
            if os.path.ismount(at):
                return at
            time.sleep(0.05)
        sys.exit("lab_jobs: %s was not mounted" % at)

    def __exit__(self, *_):
        for p in self.running:
            p.terminate()
            p.wait()


def under_traceml(a, job, place):
    """The command of the job with TraceML around it, and where the summary will be."""
    name = "run-%d" % time.monotonic_ns()
    command = [os.path.join(os.path.dirname(a.traceml), "traceml"), "run", job[0], "--mode", "summary", "--logs-dir", place + "/traceml",
               "--run-name", name, "--args"] + job[1:] + ["--traceml"]
    return command, "%s/traceml/%s/final_summary.json" % (place, name)


NO_SUMMARY = "no summary"


def said_by_traceml(summary):
    try:
        with open(summary) as f:
            return json.load(f)["primary_diagnosis"]["status"]
    except (OSError, ValueError, KeyError, TypeError):
        return NO_SUMMARY


def run(a, kind, place, turned=None, record=None, seed=0, traceml=False):
    options, data, mount, hogs = dict(kind.options), kind.data, kind.mount, kind.hogs
    if turned == "remedy":
        if isinstance(kind.remedy, dict):
            options.update(kind.remedy)
        data = kind.remedy if kind.remedy == "small" else data
        mount, hogs = None if kind.remedy == "mount" else mount, 0 if kind.remedy == "hogs" else hogs
    elif turned:
        options.update(turned)
    options["seconds"] = a.seconds
    options["step-ms"] = options.get("step-ms", 10) * (0.9, 1.0, 1.1)[seed % 3]
    command, summary = [sys.executable, HERE + "/stalled_job.py", ""], None
    for key, value in options.items():
        command += ["--" + key] + ([] if value is True else [str(value)])
    if traceml:
        command, summary = under_traceml(a, command[1:], place)
    if record:
        command = [a.pipeprobe, "exec", "-q", "--force", "-o", record, "--"] + command
    with Around(a, place + "/" + data, mount, hogs, place) as root:
        command[command.index("")] = root
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if traceml:  # under load its collector may not come up in time; that is its answer
        return said_by_traceml(summary)
    rate = re.search(rb"samples/s ([0-9.]+)", done.stdout)
    if done.returncode or not rate:
        sys.exit("lab_jobs: %s failed: %s" % (kind.name, done.stderr.decode()[-500:]))
    return float(rate.group(1))


def set_pace(a, kind, place):
    """A loader that keeps up with the step by itself, and not beside the hogs, whatever the machine."""
    rate = run(a, Kind(kind.name, kind.l1, {**kind.options, "step-ms": 0}, data=kind.data), place, seed=1)
    kind.options["step-ms"] = round(kind.pace * 1000 * BATCH / rate, 1)


def knobs_of(kind):
    workers = kind.options["workers"]
    knobs = {"workers": {"workers": 2 * workers or 2}}
    if workers:
        knobs["prefetch"] = {"prefetch": 8 * kind.options.get("prefetch", 2)}
        if not kind.options.get("persistent"):
            knobs["persistent"] = {"persistent": True}
    if kind.remedy:
        knobs["remedy"] = "remedy"
    return knobs


def truth(a, kind, place, seed):
    """{knob: gain}, the median over rounds of the ratio to the job as it is in the same round."""
    knobs = knobs_of(kind)
    ratios = {name: [] for name in knobs}
    for r in range(a.rounds):
        names = [None] + list(knobs)
        random.Random(seed * 100 + r).shuffle(names)
        rates = {name: run(a, kind, place, name and knobs[name], seed=seed) for name in names}
        for name in knobs:
            ratios[name].append(rates[name] / rates[None] - 1)
    return {name: statistics.median(v) for name, v in ratios.items()}


def holds(kind, gains):
    if kind.l1 is None:
        return max(gains.values()) <= SAME_GAIN
    named = max(gains[k] for k in {"remedy", *kind.fixes} & set(gains))
    others = [g for k, g in gains.items() if k != "remedy" and k not in kind.fixes]
    return named >= FIX_GAIN and all(g <= named + SAME_GAIN for g in others)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("pipeprobe", type=os.path.abspath)
    p.add_argument("slow_fs", type=os.path.abspath)
    p.add_argument("make_dataset", type=os.path.abspath)
    p.add_argument("--seeds", default="20")
    p.add_argument("--only", default="")
    p.add_argument("--rounds", type=int, default=1)
    p.add_argument("--seconds", type=float, default=8)
    p.add_argument("--no-truth", action="store_true")
    p.add_argument("--keep", type=os.path.abspath)
    p.add_argument("--traceml", type=os.path.abspath, metavar="PYTHON")
    a = p.parse_args()
    right = judged = false_bound = controls = refuted = theirs = bound = their_false = silent = 0
    kinds = [k for k in KINDS if not a.only or k.name in a.only.split(",")]
    with tempfile.TemporaryDirectory() as place:
        make_data(a, place)
        for seed in map(int, a.seeds.split(",")):
            for kind in random.Random(seed).sample(kinds, len(kinds)):
                if kind.pace:
                    set_pace(a, kind, place)
                file = "%s/%s-%d.sqlite" % (a.keep or place, kind.name, seed)
                run(a, kind, place, record=file, seed=seed)
                shown = subprocess.run([a.pipeprobe, "report", "--json", file], stdout=subprocess.PIPE)
                verdict = json.loads(shown.stdout)["verdict"]
                held_up = verdict["l0"] in ("input-bound", "cpu-starved")
                said = verdict["l1"] if held_up else None
                gains = {} if a.no_truth else truth(a, kind, place, seed)
                true = not gains or holds(kind, gains)
                good = said == kind.l1 and verdict["l0"] != "inconclusive"
                other = run(a, kind, place, seed=seed, traceml=True) if a.traceml else None
                print("%-19s seed %d: %-15s %-10s %-17s %s%s%s" % (
                    kind.name, seed, verdict["l0"], said or "-", verdict.get("l2") or "-", "right" if good else "WRONG, is %s" % kind.l1,
                    "".join(", %s %+.0f %%" % (k, 100 * g) for k, g in gains.items()),
                    ("" if true else ": label refuted") + ("; TraceML: %s" % other if other else "")), flush=True)
                refuted += not true
                judged += true
                right += true and good
                bound += true and (held_up if kind.l1 else verdict["l0"] == "not-input-bound")
                answered = other and other != NO_SUMMARY and not other.startswith("INSUFFICIENT")
                theirs += bool(true and answered and other.startswith("INPUT") == (kind.l1 is not None))
                their_false += bool(true and answered and kind.l1 is None and other.startswith("INPUT"))
                silent += true and not answered
                controls += true and kind.l1 is None
                false_bound += true and kind.l1 is None and verdict["l0"] == "input-bound"
    print("L1 right: %d of %d; controls called input-bound: %d of %d; labels refuted by their runs: %d" % (right, judged, false_bound, controls, refuted))
    if a.traceml:  # rows for docs/results/accuracy.md
        print("\n| of the same jobs | input-bound or not: right | its class: right | false input-bound | no answer |\n|---|--:|--:|--:|--:|")
        print("| pipeprobe | %d of %d | %d of %d | %d of %d | |" % (bound, judged, right, judged, false_bound, controls))
        print("| TraceML | %d of %d | names none | %d of %d | %d |" % (theirs, judged, their_false, controls, silent))


if __name__ == "__main__":
    main()
