"""Throughput of recorded epochs over plain ones of the same process. Two starts of a job differ by percents for as long as they run; two epochs of one
process do not. Each round has three epochs in random order: plain, control (plain once more), recorded by pipeprobe.record(). An epoch is timed from its
WARMth batch on, for as many batches as take about --turn seconds. What this cannot show are the hooks in an epoch that is not recorded; turns.py has them
on one side only.

A row is the ratio to the plain epoch of the round: the mean over all rounds, with its 95 % interval (bootstrap over the rounds).

epochs.py PIPEPROBE images ROOT | tokens FILE  [--length TOKENS] [--turn SECONDS] [--rounds N] [--starts N]"""

import argparse
import contextlib
import json
import math
import os
import random
import sqlite3
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
REPOSITORY = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
WARM = 20
ARMS = ("plain", "control", "pipeprobe")


def epoch(loader, batches):
    """Seconds that they took."""
    batch = iter(loader)
    for _ in range(WARM):
        next(batch)
    start = time.monotonic()
    for _ in range(batches):
        next(batch)
    return time.monotonic() - start


def one_start(a):
    """In a process of its own: a line of JSON with the seconds of each round's epochs."""
    sys.path[:0] = [HERE, REPOSITORY + "/collectors/attach/package"]
    import loader_job
    import pipeprobe
    import torch

    torch.manual_seed(1)
    torch.set_num_threads(1)
    if a.what == "images":
        data, size = loader_job.images(a.data), 32
        data.samples *= 100
    else:
        data, size = loader_job.Tokens(a.data, a.length), 256
    loader = torch.utils.data.DataLoader(data, batch_size=size, shuffle=True, num_workers=2)
    draw = random.Random(a.seed)
    with tempfile.TemporaryDirectory() as directory:
        recording = directory + "/run.sqlite"
        with pipeprobe.record(recording):  # the hooks are in from here on
            epoch(loader, WARM)
        if not os.path.exists(recording):
            sys.exit("nothing was recorded")
        batches = max(1, round(a.turn / (epoch(loader, 2 * WARM) / (2 * WARM))))
        for _ in range(a.rounds):
            took = {}
            for arm in draw.sample(ARMS, 3):
                if arm != "pipeprobe":  # the same pause in front of it, in which the collector starts and ends
                    with pipeprobe.record(directory + "/empty.sqlite", force=True):
                        pass
                with pipeprobe.record(recording, force=True) if arm == "pipeprobe" else contextlib.nullcontext():
                    took[arm] = epoch(loader, batches)
            with sqlite3.connect(recording) as db:
                (spans,) = db.execute("SELECT count(*) FROM v_span WHERE lane = 'worker' AND phase = 'collate'").fetchone()
            if spans < batches:
                sys.exit("of %d batches %d were recorded" % (batches, spans))
            print(json.dumps({"samples": batches * size, **took}), flush=True)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("pipeprobe", type=os.path.abspath)
    p.add_argument("what", choices=("images", "tokens"))
    p.add_argument("data", type=os.path.abspath)
    p.add_argument("--length", type=int, default=256)
    p.add_argument("--turn", type=float, default=2)
    p.add_argument("--rounds", type=int, default=20)
    p.add_argument("--starts", type=int, default=8)
    p.add_argument("--seed", type=int, help=argparse.SUPPRESS)
    a = p.parse_args()
    if a.seed is not None:
        return one_start(a)
    # In front from the start, so that the recorded epochs time their reads as those of `pipeprobe exec` do.
    reads = os.path.join(os.path.dirname(a.pipeprobe), "libpipeprobe_reads.so")
    path = os.path.dirname(a.pipeprobe) + os.pathsep + os.environ.get("PATH", os.defpath)
    environment = dict(os.environ, PATH=path, LD_PRELOAD=reads)
    rounds = []
    for seed in range(a.starts):
        job = subprocess.run([sys.executable] + sys.argv + ["--seed", str(seed)], stdout=subprocess.PIPE, env=environment, check=True)
        rounds += map(json.loads, job.stdout.splitlines())
    rate = sum(r["samples"] for r in rounds) / sum(r["plain"] for r in rounds)
    print("%s, 2 workers: %.0f samples/s, %d rounds in %d starts, epochs of about %.1f s" % (a.what, rate, len(rounds), a.starts, a.turn))
    for arm in ARMS[1:]:
        ratio = [math.log(r["plain"] / r[arm]) for r in rounds]
        means = sorted(sum(random.Random(k).choices(ratio, k=len(ratio))) / len(ratio) for k in range(1000))
        print("%-10s %.4f (%.4f to %.4f)" % (arm, *map(math.exp, (sum(ratio) / len(ratio), means[25], means[974]))))


if __name__ == "__main__":
    main()
