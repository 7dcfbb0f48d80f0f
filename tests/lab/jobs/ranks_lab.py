"""A slow rank among four, made from outside: what `pipeprobe ranks` says, and what the job gains without the fault.

  storage   the rank's own copy of the data is behind a slow FUSE mount
  hog       other processes compute on the CPU that the rank is bound to
  none      the same job, without a fault: no rank may be named

Each round makes another rank the bad one. The jobs are an unmodified PyTorch job under torchrun (gloo, ranks_job.py) and
`mpiexec pipeprobe run --collective`. The bad rank has one CPU to itself, and the other three share another: so in all three runs.

ranks_lab.py PIPEPROBE SLOW_FS MAKE_DATASET [--rounds N] [--only torchrun|mpiexec] [--faults A,B]
             [--keep DIR] [--steps N]"""

import argparse
import collections
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile

from lab_jobs import HERE, Around

RANKS, HOGS, STEP_MS = 4, 16, 60
FAULTS = ("storage", "hog", "none")
MOUNT = "read_ms=25"
OF_RANK = 'for r in "$OMPI_COMM_WORLD_RANK" "$PMI_RANK"; do [ -z "$r" ] || break; done; '


def torchrun(a, place, out, cpus):
    job = [HERE + "/ranks_job.py", place + "/small", "--cpus", cpus, "--steps", str(a.steps), "--step-ms", str(STEP_MS)]
    import torch

    # torch 1.13 under Python 3.11 takes no "0" for these two options, and that is their default.
    old = ["-r", "1", "-t", "1"] if torch.__version__ < "2" else []
    return [sys.executable, "-m", "torch.distributed.run", "--standalone"] + old + ["--nproc_per_node", str(RANKS), "--no_python",
            a.pipeprobe, "exec", "-q", "-o", out, "--", sys.executable] + job


def mpiexec(a, place, out, cpus):
    version = subprocess.run(["mpiexec", "--version"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout
    flags = ["--oversubscribe", "--allow-run-as-root"] if re.search(rb"Open MPI|OpenRTE|PRRTE", version) else []
    rank = OF_RANK + 'exec taskset -c "$(echo %s | cut -d, -f$((r + 1)))" "$0" run "%s/large/node$r" "$@"' % (cpus, place)
    return ["mpiexec", "-n", str(RANKS)] + flags + ["sh", "-c", rank, a.pipeprobe, "--sampler", "torch", "--workers", "1", "--batch-size", "4",
            "--step-ms", str(STEP_MS), "--steps", str(a.steps), "--warmup", "10", "--collective", out + "meet", "--collective-limit", "60s",
            "--transform", "rrc:224", "--quiet", "-o", out]


SIZES = {"small": "320x240", "large": "640x480"}  # Python takes longer for one
LAUNCHERS = {"torchrun": (torchrun, "small"), "mpiexec": (mpiexec, "large")}


def cpus_of(bad):
    cpus = sorted(os.sched_getaffinity(0))
    return ",".join(str(cpus[-1] if rank == bad else cpus[0]) for rank in range(RANKS))


def run(a, launcher, fault, bad, place, out):
    """What ranks says of one run: its document, with steps/s."""
    command, data = LAUNCHERS[launcher]
    os.makedirs(out)
    cpus = cpus_of(bad)
    with Around(a, place + "/" + data, MOUNT if fault == "storage" else None, 0, place) as root:
        for rank in range(RANKS):  # each machine's copy
            link = "%s/%s/node%d" % (place, data, rank)
            if os.path.islink(link):
                os.unlink(link)
            os.symlink((root if rank == bad else place + "/" + data) + "/images", link)
        hogs = [subprocess.Popen(["taskset", "-c", cpus.split(",")[bad], "sh", "-c", "while :; do :; done"], start_new_session=True)
                for _ in range(HOGS if fault == "hog" else 0)]
        try:
            done = subprocess.run(command(a, place, out + "/", cpus), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=240)
        finally:
            for p in hogs:
                p.kill()
                p.wait()
    if done.returncode not in (0, 3):
        sys.exit("ranks_lab: %s failed: %s" % (launcher, done.stderr.decode()[-800:]))
    said = subprocess.run([a.pipeprobe, "ranks", out, "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if not said.stdout:
        sys.exit("ranks_lab: ranks: %s" % said.stderr.decode())
    answer = json.loads(said.stdout)
    own = re.search(rb"steps/s ([0-9.]+)", done.stdout)
    answer["rate"] = float(own.group(1)) if own else 1e9 / statistics.mean(
        r["wait_ns"] + r["sync_ns"] + r["step_ns"] + (r["collective_ns"] or 0) for r in answer["ranks"])
    return answer


class Row:
    def __init__(self):
        self.n = self.right = self.blamed = 0
        self.causes, self.gains, self.said, self.rates = collections.Counter(), [], [], []


def percent(values):
    return "%+.0f %% (%+.0f to %+.0f)" % tuple(100 * x for x in (statistics.median(values), min(values), max(values))) if values else "-"


def main():
    p = argparse.ArgumentParser()
    p.add_argument("pipeprobe", type=os.path.abspath)
    p.add_argument("slow_fs", type=os.path.abspath)
    p.add_argument("make_dataset", type=os.path.abspath)
    p.add_argument("--rounds", type=int, default=10)
    p.add_argument("--only", choices=sorted(LAUNCHERS))
    p.add_argument("--faults", type=lambda text: tuple(text.split(",")), default=FAULTS)
    p.add_argument("--keep", type=os.path.abspath)
    p.add_argument("--steps", type=int, default=80)
    a = p.parse_args()
    if len(os.sched_getaffinity(0)) < 2:
        sys.exit("ranks_lab: the bad rank needs a CPU to itself, and there is one")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # mounts and hogs end with us
    rows = collections.defaultdict(Row)
    with tempfile.TemporaryDirectory() as place:
        for launcher in [a.only] if a.only else LAUNCHERS:
            data = LAUNCHERS[launcher][1]
            os.mkdir(place + "/" + data)
            options = ["--n", str(8 * a.steps), "--size", SIZES[data]]
            subprocess.run([a.make_dataset, "%s/%s/images" % (place, data)] + options, check=True, stdout=subprocess.DEVNULL)
        for number in range(a.rounds):
            bad = number % RANKS
            for launcher in [a.only] if a.only else LAUNCHERS:
                answers = {}
                first = number % len(a.faults)
                for fault in a.faults[first:] + a.faults[:first]:
                    out = "%s/%s-%s-%d" % (a.keep or place, launcher, fault, number)
                    answers[fault] = answer = run(a, launcher, fault, bad, place, out)
                    named, wanted = answer["straggler_rank"], bad if fault != "none" else None
                    row = rows[launcher, fault]
                    row.n += 1
                    row.right += named == wanted and answer["kind"] != "inconclusive"
                    row.blamed += named is not None and named != wanted
                    row.causes["/".join(filter(None, (answer["cause"] or "unattributed", answer["input_cause"])))] += 1
                    row.rates.append(answer["rate"])
                    slow = next((r for r in answer["ranks"] if r["rank"] == named), {})
                    print("round %d: %-8s %-7s of rank %d: %s%s; gain %+.0f %%; %.1f steps/s; %s" % (
                        number, launcher, fault, bad, answer["kind"], "" if named is None else ", rank %d, %s, its own verdict %s/%s" % (
                            named, answer["why"], slow.get("l1"), slow.get("l2")),
                        100 * (answer["gain_share"] or 0), answer["rate"], "right" if named == wanted else "WRONG"), flush=True)
                    if not a.keep:
                        shutil.rmtree(out)
                for fault in FAULTS[:2] if set(FAULTS) == set(a.faults) else ():
                    rows[launcher, fault].gains.append(answers["none"]["rate"] / answers[fault]["rate"] - 1)
                    rows[launcher, fault].said.append(answers[fault]["gain_share"] or 0)
    print("\n| launcher | planted | named right | another rank named | by | steps/s | gain without the fault | gain predicted |\n|---|---|---|---|---|--:|---|---|")
    for (launcher, fault), row in sorted(rows.items(), key=lambda kv: (kv[0][0], FAULTS.index(kv[0][1]))):
        causes = ", ".join("%s %d" % c for c in row.causes.most_common()) if fault != "none" else "-"
        print("| %s | %s | %d of %d | %d | %s | %.1f | %s | %s |" % (
            launcher, fault, row.right, row.n, row.blamed, causes, statistics.median(row.rates), percent(row.gains), percent(row.said)))
    return any(row.right != row.n for row in rows.values())


if __name__ == "__main__":
    sys.exit(main())
