#!/usr/bin/env python3
"""tests/resume/run.py [NAME...]: jobs after public bugs, each with its fault and its fix, under `pipeprobe resume-test`; culprit, first batch that differs
and numbers of samples against what the jobs themselves logged (truth.py).

$RESUME_PYTHON has torch, lightning, transformers, accelerate, torchdata and datasets; without it the jobs that need these are skipped by name. $RESUME_OVERLAYS
is a directory of `pip install --no-deps --target` directories of the versions that have a bug: torchdata-0.10.1, datasets-5.0.0, and transformers-4.56.2 with
accelerate 1.9.0, tokenizers 0.22, huggingface_hub below 1 and datasets 4.4.1 in it. Exit code 1: an answer is wrong.

It needs CPUs that have time: beside others a job is killed batches later than asked for, and a fault that shows at one batch alone does not show."""
import argparse
import collections
import glob
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))


class Case:
    def __init__(self, job, culprit, bug="", fix="--fix", kill=32, **more):
        self.job, self.culprit, self.args, self.kill = job, culprit, {"bug": bug, "fix": fix}, kill
        self.frameworks = self.overlays = ()
        self.content = False
        self.ranks = 1
        self.after = {}  # arguments of the resumed run alone
        self.__dict__.update(more)
        self.ranks_after = more.get("ranks_after", self.ranks)
        self.name = job + (":" + more["named"] if "named" in more else "")


CASES = [
    Case("lightning_epoch0", "sampler-epoch", fix="--workers 0", kill=38, frameworks=("lightning",)),
    Case("transformers_epoch0", "sampler-epoch", fix="", kill=36, frameworks=("transformers",), overlays=("transformers-4.56.2",)),
    Case("torchdata_epoch_end", "epoch-dropped", bug="--epochs 3", fix="--epochs 3", kill=53, frameworks=("torchdata",), overlays=("torchdata-0.10.1",)),
    Case("torchdata_epoch_end", "generator-lost", bug="--generator", fix="", kill=32, frameworks=("torchdata",), named="generator"),
    Case("directory_order", "directory-order", kill=38, content=True),
    Case("stream_restarts", "restarted", kill=38, content=True),
    Case("world_size", "world-size", kill=28, ranks=2, ranks_after=4),
    Case("world_size", "world-size", bug="--one-order --keep-loaders --epochs 4", fix="--one-order --keep-loaders --epochs 4 --fix", kill=42, ranks=2, ranks_after=4, named="nothing-left"),
    Case("accelerate_epoch_twice", "epoch-twice", fix=None, kill=38, frameworks=("accelerate",)),
    Case("set_epoch_from_0", "sampler-epoch", kill=38, ranks=2),
    Case("datasets_second_resume", "skip-wrong", fix="", kill=None, content=True, frameworks=("datasets", "torchdata"), overlays=("datasets-5.0.0",)),
    Case("random_state_saved", "next-epoch", bug="--bug next-epoch", fix="", named="next-epoch"),
    Case("random_state_saved", "rng-mid-epoch", bug="--bug rng-mid-epoch --noise", fix="--noise", named="rng-mid-epoch"),
    Case("random_state_saved", "generator-lost", bug="--bug generator-lost --noise", fix="", named="generator-lost"),
    Case("random_state_saved", "generator-lost", bug="--bug generator-lost", fix="", named="generator-again"),
    Case("sampler_counts", "prefetched-counted", bug="--bug prefetched-counted", fix="", kill=38, named="prefetched-counted"),
    Case("sampler_counts", "skip-wrong", bug="--bug skip-wrong", fix="", kill=44, named="skip-wrong"),
    Case("sampler_counts", "skip-wrong", bug="--bug again", fix="", kill=44, named="again"),
    Case("position_in_samples", "partial-batch", bug="--bug partial-batch", fix="", kill=63, named="partial-batch"),
    Case("position_in_samples", "offset-sticks", bug="--bug offset-sticks", fix="", kill=38, named="offset-sticks"),
    Case("shuffled_stream", "buffer-lost", bug="--bug buffer-lost", fix="", kill=38, content=True, named="buffer-lost"),
    Case("shuffled_stream", "worker-split", bug="--workers 2", fix="--workers 2", kill=38, content=True, after={"bug": "--workers 1"}, named="worker-split"),
    Case("flips_in_workers", "augmentation", kill=38, content=True),
    Case("state_of_ranks", "rank-state", bug="--bug rank-state", fix="", kill=38, ranks=2, named="rank-state"),
    Case("state_of_ranks", "last-batches", bug="--bug last-batches", fix="", kill=38, ranks=2, named="last-batches"),
    Case("updates_counted", "skip-wrong", bug="--bug floor-epochs", fix="", kill=42, named="floor-epochs"),
    Case("batch_ramp", "skip-wrong", bug="--bug ramp", fix="", kill=52, named="ramp"),
    Case("batch_ramp", "skip-wrong", bug="--bug ramp", fix="", kill=38, named="over-the-end"),
    Case("iterated_before_load", "iterated-early", bug="--bug early", fix="", kill=38, named="early"),
    Case("iterated_before_load", "iterated-early", bug="--bug early --batch 16", fix="--batch 16", kill=24, named="early-large"),
    Case("mixture", "rng-mid-epoch", bug="--bug share-lost", fix="", kill=38, named="share-lost"),
    Case("epoch_in_workers", "sampler-epoch", bug="--bug frozen", fix="", kill=39, content=True, named="frozen"),
    Case("epoch_in_workers", "sampler-epoch", bug="--bug late", fix="", kill=39, content=True, named="late"),
    Case("save_in_place", "torn-checkpoint", kill=34, named="in-a-save"),
]


# ---- the truth ----


class Run:
    """What one start of the job logged, of all ranks."""

    def __init__(self, start):
        self.ranks = {}
        for path in glob.glob(start + ".truth.*"):
            with open(path) as f:
                self.ranks[int(path.rsplit(".", 1)[1])] = [json.loads(line) for line in f]
        log = self.ranks.get(0, [])
        self.resumed = next((e["resumed"] for e in log if "resumed" in e), 0)
        self.used = {r: [e for e in log if "used" in e] for r, log in self.ranks.items()}

    def batches(self, rank, what="used"):
        return [tuple(e[what] or ()) for e in self.used[rank]]

    def epochs(self, rank, since=0):
        """Where the epochs of the batches from `since` on end; the last one may be cut."""
        told = [e["epoch"] for e in self.used[rank][since:]]
        return [since + i + 1 for i in range(len(told)) if i + 1 == len(told) or told[i] != told[i + 1]]

    def cut(self, rank):
        ends = self.epochs(rank)
        return len(ends) < 2 or ends[-1] - ends[-2] != ends[0]


def counted(a, r, rank, c, whole, n, m):
    """Up to where the n batches of a from c on, and the m of r, count: behind the last epoch that both have whole, else what both have; more than who came
    to its end. An epoch is the one that the job says: of those before r's first one r has nothing."""
    if all(whole):
        return n, m
    ends_x, ends_y = a.epochs(rank, c), r.epochs(rank)
    first = r.used[rank][0]["epoch"] if m else None
    dropped = sum(first is not None and a.used[rank][end - 1]["epoch"] < first for end in ends_x)
    cut = a.cut(rank) and not whole[0]
    k = min(len(ends_x) - cut - dropped, len(ends_y) - (not whole[1]))
    x_end, y_end = (ends_x[dropped + k - 1] - c if dropped + k > 0 else 0, ends_y[k - 1] if k > 0 else 0) if k > 0 or dropped else [min(n, m)] * 2
    return n if whole[1] and k == len(ends_y) else x_end, m if whole[0] and dropped + k == len(ends_x) else y_end


def differs(a, r, whole):
    """First batch, samples too often and left out; None: exact. whole: both came to their end by themselves (a, r)."""
    c, firsts = a.resumed + r.resumed, []
    want, got = collections.Counter(), collections.Counter()
    if a.ranks.keys() != r.ranks.keys():
        return differs_in_world(a, r, c, whole)
    for rank in a.ranks:
        x, y = a.batches(rank)[c:], r.batches(rank)
        changed = [p != q for p, q in zip(a.batches(rank, "aug")[c:], r.batches(rank, "aug"))]
        first = next((k for k, (p, q) in enumerate(zip(x, y)) if p != q or changed[k]), None)
        if first is None and ((whole[1] and len(y) < len(x)) or (whole[0] and len(x) < len(y))):
            first = min(len(x), len(y))
        firsts += [] if first is None else [c + first]
        x_end, y_end = counted(a, r, rank, c, whole, len(x), len(y))
        want.update(i for b in x[:x_end] for i in b)
        got.update(i for b in y[:y_end] for i in b)
    return (min(firsts), sum((got - want).values()), sum((want - got).values())) if firsts else None


def differs_in_world(a, r, c, whole):
    """At another number of ranks the samples of all of them together count, wherever both have used as many."""
    def steps(run, since):
        return [[i for rank in run.ranks for i in run.batches(rank)[k]] for k in range(since, min(len(u) for u in run.used.values()))]
    x, y = steps(a, c), steps(r, 0)
    first, have_x, have_y, k, m = None, collections.Counter(), collections.Counter(), 0, 0
    agreed = c
    while first is None:
        if sum(have_x.values()) <= sum(have_y.values()):
            if k == len(x):
                break
            have_x.update(x[k]); k += 1
        else:
            if m == len(y):
                break
            have_y.update(y[m]); m += 1
        if sum(have_x.values()) == sum(have_y.values()):
            if have_x != have_y:
                first = agreed
            agreed = c + k
    x_end, y_end = counted(a, r, 0, c, whole, len(x), len(y))
    have_x, have_y = collections.Counter(i for b in x[:x_end] for i in b), collections.Counter(i for b in y[:y_end] for i in b)
    if first is None and all(whole) and have_x != have_y:
        first = agreed
    return None if first is None else (first, sum((have_y - have_x).values()), sum((have_x - have_y).values()))


def truth_of(directory, chain):
    """(first, too often, left out) of the first start that differs; None: all are exact."""
    a = Run(os.path.join(directory, "a", "start1"))
    n = 2
    while glob.glob(os.path.join(directory, chain, f"start{n}.truth.*")):
        r = Run(os.path.join(directory, chain, f"start{n}"))
        ended = [ended_by_itself(os.path.join(directory, p)) for p in ("a/start1", f"{chain}/start{n}")]
        if not any(r.used.values()) and not ended[1]:
            return "failed"  # before its first batch
        wrong = differs(a, r, ended)
        if wrong:
            return wrong
        n += 1
    if n == 2 and not ended_by_itself(os.path.join(directory, chain, "start2")):
        return "failed"  # before its first batch, and before it knew where it stands
    return None


def ended_by_itself(start):
    """The job's log has its last line (jobs print "done")."""
    try:
        with open(start + ".log") as f:
            return "all done" in f.read()
    except OSError:
        return False


# ---- the runs ----


def environment(case, variant):
    env = dict(os.environ, OMP_NUM_THREADS="1", PYTHONWARNINGS="ignore", TOKENIZERS_PARALLELISM="false", USE_TF="0", HF_HUB_OFFLINE="1")
    if variant == "bug" and case.overlays:
        env["PYTHONPATH"] = os.pathsep.join(os.path.join(os.environ["RESUME_OVERLAYS"], o) for o in case.overlays)
    return env


def command(case, variant, python, ranks, more=""):
    launch = [python] + ([os.path.join(HERE, "ranks.py"), str(ranks)] if ranks > 1 else [])
    words = launch + [os.path.join(HERE, "jobs", case.job + ".py")] + (case.args[variant] + " " + more).split()
    return "cd {dir} && " + " ".join(shlex.quote(w) for w in words) + " && echo all done"


def judge(case, variant, python, directory):
    shutil.rmtree(directory, ignore_errors=True)
    os.makedirs(os.path.dirname(directory), exist_ok=True)
    argv = [os.path.join(TOP, os.environ.get("BUILD", "build/release"), "pipeprobe"), "resume-test", "--yes", "--quiet", "--json", "-o", directory, "--limit", "5m"]
    argv += ["--content"] if case.content else []
    argv += ["--kill-at", str(case.kill)] if case.kill else []
    after = case.after.get(variant, "")
    if after or case.ranks_after != case.ranks:
        argv += ["--resume-with", command(case, variant, python, case.ranks_after, after)]
    argv += ["--", "sh", "-c", command(case, variant, python, case.ranks)]
    done = subprocess.run(argv, env=environment(case, variant), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        return done.returncode, json.loads(done.stdout), done.stderr
    except ValueError:
        return done.returncode, None, done.stderr


def check(case, variant, python, directory, out):
    """Prints a row. 1: the answer is right."""
    rc, page, err = judge(case, variant, python, directory)
    kills = page["kills"] if page else []
    right, rows = bool(kills), []
    for kill in kills:
        truth = truth_of(directory, kill["name"])
        told = "failed" if kill["kind"] == "not-exact" and kill.get("first") is None else None if kill.get("first") is None else (kill["first"], kill["repeated"], kill["left_out"])
        culprit = kill.get("culprit")
        fine = kill["kind"] == ("exact" if truth is None else "not-exact") and told == truth and culprit == (case.culprit if truth else None)
        rows.append((kill["name"], kill["kind"], culprit, told, truth, fine, kill.get("confidence")))
        right &= fine
    right &= any(r[4] for r in rows) if variant == "bug" else not any(r[4] for r in rows)
    for name, kind, culprit, told, truth, fine, confidence in rows:
        say = lambda t: t or "none" if not isinstance(t, tuple) else "%d, %d too often, %d left out" % t
        print(f"{'right' if fine else 'WRONG'}  {case.name:32} {variant:4} {name:4} {culprit or kind:20} {confidence or '':8} said {say(told)}; truth {say(truth)}", flush=True, file=out)
    if not rows:
        print(f"WRONG  {case.name:32} {variant:4} exit code {rc}: {err.strip()[-300:]}", flush=True, file=out)
    elif not right and all(r[5] for r in rows):
        print(f"WRONG  {case.name:32} {variant:4} the {'fault did not show' if variant == 'bug' else 'fix is not one'}", flush=True, file=out)
    return right


def untouched(case, variant, python, directory, out):
    """The job run to its end, without pipeprobe and under `pipeprobe exec --content`: samples, their order and their bytes by its own log."""
    logs = {}
    for how in ("alone", "recorded"):
        where = os.path.join(directory, how, "out")
        shutil.rmtree(os.path.dirname(where), ignore_errors=True)
        os.makedirs(where)
        words = [os.path.join(TOP, os.environ.get("BUILD", "build/release"), "pipeprobe"), "exec", "--quiet", "--content", "-o", os.path.dirname(where) + "/", "--"]
        words = (words if how == "recorded" else []) + ["sh", "-c", command(case, variant, python, case.ranks).replace("{dir}", where)]
        done = subprocess.run(words, env=dict(environment(case, variant), PIPEPROBE_RESUME_RUN=where), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        logs[how] = {r: [(e["epoch"], e["used"], e["aug"], e["content"]) for e in used] for r, used in Run(where).used.items()} if done.returncode == 0 else done.stdout[-300:]
    batches = sum(map(len, logs["alone"].values())) if isinstance(logs["alone"], dict) else 0
    recordings = len(glob.glob(os.path.join(directory, "recorded", "*.sqlite")))
    contents = len({content for used in logs["alone"].values() for _, _, _, content in used}) if batches else 0
    right = batches > 0 and contents > 1 and recordings == case.ranks and logs["alone"] == logs["recorded"]  # one content: truth.py saw no batch
    print(f"{'right' if right else 'WRONG'}  {case.name:32} {variant:4} {batches} batches, {contents} of their own content, {recordings} recordings" + ("" if right else f": {logs}"[:400]), flush=True, file=out)
    return right


def missing(case):
    if not case.frameworks:
        return None
    python = os.environ.get("RESUME_PYTHON")
    if not python:
        return "RESUME_PYTHON is not set"
    if subprocess.run([python, "-c", "import " + ", ".join(case.frameworks)], stderr=subprocess.DEVNULL).returncode:
        return f"{python} has not all of {', '.join(case.frameworks)}"
    if case.overlays and not all(os.path.isdir(os.path.join(os.environ.get("RESUME_OVERLAYS", "/nowhere"), o)) for o in case.overlays):
        return f"RESUME_OVERLAYS has not all of {', '.join(case.overlays)}"
    return None


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("names", nargs="*", help="of jobs, or of one with its fault (job:fault)")
    ap.add_argument("--variant", choices=("bug", "fix"))
    ap.add_argument("--untouched", action="store_true", help="recording changes neither order nor content: each job's fix, alone and under exec --content")
    ap.add_argument("--keep", help="directory for recordings and logs")
    a = ap.parse_args()
    base = a.keep or tempfile.mkdtemp(prefix="resume-jobs-")
    n = right = 0
    for case in CASES:
        if a.names and case.name not in a.names and case.job not in a.names:
            continue
        why = missing(case)
        if why:
            print(f"skip   {case.name:32} {why}", flush=True)
            continue
        python = os.environ["RESUME_PYTHON"] if case.frameworks else os.environ.get("PYTHON", "/usr/bin/python3")
        for variant in [a.variant] if a.variant else ["fix" if case.args["fix"] is not None else "bug"] if a.untouched else ["bug", "fix"]:
            if case.args[variant] is None:
                continue
            n += 1
            right += (untouched if a.untouched else check)(case, variant, python, os.path.join(base, case.name.replace(":", "-") + "-" + variant), sys.stdout)
    print(f"{right} of {n} right")
    if not a.keep:
        shutil.rmtree(base)
    sys.exit(0 if n and right == n else 1)


main()
