"""Throughput of recorded epochs over plain ones of the same process. Two starts of a job differ by percents for as long as they run; two epochs of one
process do not. Each round has three epochs in random order: plain, control (plain once more), recorded by pipeprobe.record(). In a plain epoch the hooks are out: what they replaced is put back, in the trainer and so in the workers that it forks. An epoch is timed from its WARMth batch on, for as many batches
as take about --turn seconds, and what its threads did meanwhile is read from /proc. The library in front of libc's reads is on both sides; --bare takes it from all arms.

A row has the ratios to the plain epoch of the round, samples/s and CPU time per sample: means over all rounds, with 95 % intervals (bootstrap over the rounds);
and how often the threads were switched per batch, of their own accord and against it. A figure of its own: --hooks adds epochs with the hooks in and nothing recorded.

epochs.py PIPEPROBE images ROOT | tokens FILE  [--length TOKENS] [--turn SECONDS] [--rounds N] [--starts N] [--hooks] [--bare]"""

import argparse
import contextlib
import glob
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
WARM = {"images": 6, "tokens": 20}
ARMS = ("plain", "control", "hooks", "pipeprobe")


def switches_and_cpu(processes):
    """Of all their threads: voluntary and involuntary switches, seconds on a CPU."""
    total = [0, 0, 0.0]
    for task in (t for p in processes for t in glob.glob("/proc/%d/task/*" % p)):
        with open(task + "/status") as f:
            for line in f:
                if line.startswith("voluntary_ctxt"):
                    total[0] += int(line.split()[1])
                elif line.startswith("nonvoluntary_ctxt"):
                    total[1] += int(line.split()[1])
        with open(task + "/schedstat") as f:
            total[2] += int(f.read().split()[0]) / 1e9
    return total


def epoch(loader, warm, batches):
    """Seconds that they took; switches per batch, and CPU seconds."""
    batch = iter(loader)
    for _ in range(warm):
        next(batch)
    processes = [os.getpid()] + [w.pid for w in batch._workers]
    before, start = switches_and_cpu(processes), time.monotonic()
    for _ in range(batches):
        next(batch)
    took = time.monotonic() - start
    voluntary, involuntary, cpu = (now - then for now, then in zip(switches_and_cpu(processes), before))
    return took, cpu, voluntary / batches, involuntary / batches


class Hooks:
    """Those of the recording, to be taken out and put in again."""

    def __init__(self, directory):
        sys.path.insert(0, directory)
        import pipeprobe_hooks

        sys.path.remove(directory)
        self.replaced, self.put_in = [], pipeprobe_hooks._put_in
        pipeprobe_hooks._put_in = self.keeping

    def keeping(self, module, name):
        package = sys.modules.get(name.rpartition(".")[0])
        holders = [h for h in [module, package] + [v for v in vars(module).values() if issubclass(type(v), type)] if h]
        before = [dict(vars(h)) for h in holders]
        self.put_in(module, name)
        for holder, had in zip(holders, before):
            self.replaced += [(holder, k, had[k], v) for k, v in vars(holder).items() if k in had and had[k] is not v]

    def set(self, recording):
        for holder, name, own, hook in self.replaced:
            setattr(holder, name, hook if recording else own)


def one_start(a):
    """In a process of its own: a line of JSON with the seconds of each round's epochs."""
    sys.path[:0] = [HERE, REPOSITORY + "/collectors/attach/package"]
    import loader_job
    import pipeprobe
    import torch

    hooks = Hooks(os.path.join(os.path.dirname(a.pipeprobe), "python/attach"))

    torch.manual_seed(1)
    torch.set_num_threads(1)
    if a.what == "images":
        data, size = loader_job.images(a.data), 32
        data.samples *= 100
    else:
        data, size = loader_job.Tokens(a.data, a.length), 256
    loader = torch.utils.data.DataLoader(data, batch_size=size, shuffle=True, num_workers=2)
    draw, arms = random.Random(a.seed), [arm for arm in ARMS if arm != "hooks" or a.hooks]
    with tempfile.TemporaryDirectory() as directory:
        recording = directory + "/run.sqlite"
        with pipeprobe.record(recording):  # the hooks are in from here on
            epoch(loader, 0, 20)
        if not os.path.exists(recording):
            sys.exit("nothing was recorded")
        if len(hooks.replaced) < 12:
            sys.exit("only %d hooks can be taken out" % len(hooks.replaced))
        batches = max(1, round(40 * a.turn / epoch(loader, 0, 40)[0]))
        for _ in range(a.rounds):
            took = {}
            for arm in draw.sample(arms, len(arms)):
                if arm != "pipeprobe":  # the same pause in front of it, in which the collector starts and ends
                    with pipeprobe.record(directory + "/empty.sqlite", force=True):
                        pass
                hooks.set(arm in ("hooks", "pipeprobe"))
                with pipeprobe.record(recording, force=True) if arm == "pipeprobe" else contextlib.nullcontext():
                    took[arm] = epoch(loader, WARM[a.what], batches)
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
    p.add_argument("--hooks", action="store_true")
    p.add_argument("--bare", action="store_true")
    p.add_argument("--seed", type=int, help=argparse.SUPPRESS)
    a = p.parse_args()
    if a.seed is not None:
        return one_start(a)
    # In front from the start, so that the recorded epochs time their reads as those of `pipeprobe exec` do.
    reads = os.path.join(os.path.dirname(a.pipeprobe), "libpipeprobe_reads.so")
    path = os.path.dirname(a.pipeprobe) + os.pathsep + os.environ.get("PATH", os.defpath)
    environment = dict(os.environ, PATH=path, **{} if a.bare else {"LD_PRELOAD": reads})
    rounds = []
    for seed in range(a.starts):
        job = subprocess.run([sys.executable] + sys.argv + ["--seed", str(seed)], stdout=subprocess.PIPE, env=environment, check=True)
        rounds += map(json.loads, job.stdout.splitlines())
    arms = list(rounds[0])[1:]
    rate = sum(r["samples"] for r in rounds) / sum(r["plain"][0] for r in rounds)
    print("%s, 2 workers: %.0f samples/s, %d rounds in %d starts, epochs of about %.1f s" % (a.what, rate, len(rounds), a.starts, a.turn))
    print("%-10s %-27s %-27s %s" % ("over plain", "samples/s", "CPU time per sample", "switches per batch"))
    for arm in sorted(arms, key=ARMS.index):
        row = "%-10s" % arm
        for k, sign in ((0, 1), (1, -1)) if arm != "plain" else ():
            ratio = [sign * math.log(r["plain"][k] / r[arm][k]) for r in rounds]
            means = sorted(sum(random.Random(i).choices(ratio, k=len(ratio))) / len(ratio) for i in range(1000))
            row += " %.4f (%.4f to %.4f)   " % tuple(map(math.exp, (sum(ratio) / len(ratio), means[25], means[974])))
        row = row.ljust(66)
        print(row + " %.1f + %.1f" % tuple(sum(r[arm][k] for r in rounds) / len(rounds) for k in (2, 3)))



if __name__ == "__main__":
    main()
