"""planted.py PIPEPROBE JOBS SECONDS [GAINS [CROWDS]]: how well the report of planted jobs (planted_job.py) names the dearest member, how far its shares are off and
whether their intervals hold the truth; frames that cannot stand below each other; and of GAINS jobs what the dearest member's half gains, predicted and
measured without pipeprobe, in turns. Of CROWDS more jobs a member gains that the trainer never waits for. Beside it what is on a CPU most often, which is py-spy's answer. Exit code 1: a bar is missed."""

import json
import os
import sqlite3
import subprocess
import sys
import tempfile

DECOY = "seconds=0.003)"
# Each sample with the frames that it passes: the function, and the member that it runs, if any.
FRAMES = """WITH RECURSIVE up(leaf, state, node, parent, function, op) AS (SELECT s.rowid, s.state, k.id, k.parent, k.function, k.op FROM stack_sample s
 JOIN thread t ON t.id = s.thread AND t.lane = 'worker' JOIN stack k ON k.id = s.stack
 UNION ALL SELECT leaf, state, k.id, k.parent, k.function, k.op FROM up JOIN stack k ON k.id = up.parent)
 SELECT leaf, state, node, parent, f.function, o.arguments FROM up JOIN stack_function f ON f.id = up.function LEFT JOIN stack_op o ON o.id = up.op AND o.class = 'Op'"""


def job(seed, seconds, method, *more):
    return ["/usr/bin/python3", "tests/bench/lines/planted_job.py", str(seed), str(seconds), method, *more]


def words(text, key):
    return text.split(key + " ")[1].splitlines()[0].split()


def frames(out, kinds):
    """(the member on a CPU most often, samples, those whose frame is not of its member's kind)"""
    on_cpu, passed, impossible, samples = {}, {}, set(), set()
    rows = sqlite3.connect(out).execute(FRAMES).fetchall()
    member = {(leaf, node): arguments for leaf, _, node, _, _, arguments in rows if arguments}
    for leaf, state, _, parent, function, arguments in rows:
        samples.add(leaf)
        if arguments and state == "R":
            on_cpu[arguments] = on_cpu.get(arguments, 0) + 1
        caller, kind = member.get((leaf, parent)), function.rsplit(".", 1)[-1]
        if caller and kind in set(kinds) | {"burn"}:
            number = int(caller.split("=")[1].split(",")[0])
            passed[leaf] = kind
            if kind != ("burn" if DECOY[:-1] in caller else kinds[number]):
                impossible.add(leaf)
    return max(on_cpu, key=on_cpu.get, default=""), len(samples), len(impossible)


def run(pipeprobe, seed, seconds, method, *more):
    with tempfile.TemporaryDirectory() as d:
        out = os.path.join(d, "r.sqlite")
        text = subprocess.run([pipeprobe, "exec", "-q", "-o", out, "--", *job(seed, seconds, method, *more)], check=True, stdout=subprocess.PIPE, text=True).stdout
        report = json.loads(subprocess.run([pipeprobe, "report", out, "--json"], check=True, stdout=subprocess.PIPE, text=True).stdout)
        facts = dict(sqlite3.connect(out).execute("SELECT key, value FROM meta WHERE section = 'stacks'"))
        kinds = words(text, "kinds")
        hottest, samples, impossible = frames(out, kinds)
    return {
        "truth": [float(w) for w in words(text, "truth")],
        "kinds": kinds,
        "report": report,
        "facts": facts,
        "hottest": hottest,
        "samples": samples,
        "impossible": impossible,
    }


def rate(seed, method, factor, *more):
    return float(words(subprocess.run(job(seed, 5, method, str(factor), *more), check=True, stdout=subprocess.PIPE, text=True).stdout, "rate")[0])


def measured_gain(seed, method, *more):
    whole, half = [], []
    for factor in (1, 0.5, 0.5, 1):
        (whole if factor == 1 else half).append(rate(seed, method, factor, *more))
    return sum(half) / sum(whole) - 1


def quantile(values, p):
    return sorted(values)[min(int(len(values) * p), len(values) - 1)] if values else float("nan")


def number_of(name):
    return int(name.split("number=")[1].split(",")[0])


def crowds(pipeprobe, jobs, seconds):
    """(jobs in which the decoy's half gains 5 % and more, of these: it is listed with a gain of as much)"""
    gained = found = 0
    for seed in range(100, 100 + jobs):
        r = run(pipeprobe, seed, seconds, "fork", "1", "crowd")
        decoy = next((op for op in r["report"]["ops"] if DECOY in op["name"]), {})
        gain, said = measured_gain(seed, "fork", "crowd"), decoy.get("gain") or 0
        gained, found = gained + (gain >= 0.05), found + (gain >= 0.05 and said >= 0.05)
        print("crowd %d: half of the decoy %+.0f %%, measured %+.0f" % (seed, 100 * said, 100 * gain), flush=True)
    return gained, found


def main(pipeprobe, jobs, seconds, gains=20, crowd=6):
    jobs, gains = int(jobs), int(gains)
    every = max(jobs // gains, 1) if gains else jobs + 1
    off, held, of_kind, predicted, right, hot, decoys, counted, impossible, samples, lost, cpu_ns = [], [], {}, [], 0, 0, 0, 0, 0, 0, 0, 0
    for seed in range(jobs):
        method = ("fork", "spawn", "forkserver")[seed % 3]
        r = run(pipeprobe, seed, seconds, method)
        truth = r["truth"]
        dear = truth.index(max(truth))
        ops = [op for op in r["report"]["ops"] if op["name"].startswith("Op(") and DECOY not in op["name"]]
        verdict = r["report"]["verdict"]
        first = next((op for op in r["report"]["ops"] if op["judged"]), None)
        named = first in ops and number_of(first["name"]) == dear
        right, hot = right + named, hot + (r["hottest"].startswith("number=%d," % dear) and DECOY[:-1] not in r["hottest"])
        decoys += DECOY in "%s %s" % (verdict["cause"], verdict["next_step"])
        # The truth is of the members' time alone, a share of the whole stall.
        listed = [(op, truth[number_of(op["name"])]) for op in ops if truth[number_of(op["name"])] >= 0.02]
        scale = sum(t for _, t in listed) / max(sum(op["share"] for op, _ in listed), 1e-9)
        for op, t in listed:
            off.append(abs(op["share"] * scale - t) * 100)
            held.append(op["low"] * scale <= t <= op["high"] * scale)
            of_kind.setdefault(r["kinds"][number_of(op["name"])], []).append((op["share"] * scale - t) * 100)
        counted, impossible = counted + r["samples"], impossible + r["impossible"]
        samples, lost, cpu_ns = samples + r["facts"]["samples"], lost + r["facts"]["lost"], cpu_ns + r["facts"]["cpu_ns"]
        said = ""
        if seed % every == 0 and named and first["gain"] is not None:
            gain = measured_gain(seed, method)
            predicted.append((abs(first["gain"] - gain) * 100, first["gain_low"] <= gain <= first["gain_high"]))
            said = "; half of it %+.0f %% (%+.0f to %+.0f), measured %+.0f" % tuple(
                100 * x for x in (first["gain"], first["gain_low"], first["gain_high"], gain)
            )
        print("job %d, %s: dearest %s, truly %.3f, said %.3f%s" % (seed, method, "named" if named else "NOT NAMED (%s)" % (first and first["name"]), truth[dear], first["share"] if first else 0, said), flush=True)
    gained, found = crowds(pipeprobe, int(crowd), seconds)
    errors = [e for e, _ in predicted]
    bars = [
        ("dearest member named, %% of %d jobs" % jobs, 100 * right / jobs, ">=", 95),
        ("what is on a CPU most often is it (py-spy), %", 100 * hot / jobs, "", 0),
        ("decoy named, % of jobs", 100 * decoys / jobs, "<=", 2),
        ("shares of %d members off, median, points" % len(off), quantile(off, 0.5), "<=", 1.5),
        ("90th percentile, points", quantile(off, 0.9), "<=", 4),
        ("80 % intervals that hold the share, %", 100 * sum(held) / max(len(held), 1), ">=", 75),
        ("gains of %d halves off, median, points" % len(errors), quantile(errors, 0.5), "<=", 5),
        ("95th percentile, points", quantile(errors, 0.95), "<=", 15),
        ("80 % intervals that hold the gain, %", 100 * sum(h for _, h in predicted) / max(len(predicted), 1), ">=", 75),
        ("hidden member found, %% of %d that gain" % gained, 100 * found / max(gained, 1), ">=", 95),
        ("frames below a member of another kind, %% of %d samples" % counted, 100 * impossible / max(counted, 1), "<=", 0.05),
        ("stacks lost, %", 100 * lost / max(samples, 1), "<=", 0.5),
        ("CPU a stack, us", cpu_ns / 1e3 / max(samples, 1), "<=", 40),
    ]
    print("points too many, by kind: %s" % ", ".join("%s %+.2f (%d)" % (k, sum(v) / len(v), len(v)) for k, v in sorted(of_kind.items())))
    missed = 0
    for what, value, compare, bar in bars:
        kept = not compare or (value >= bar if compare == ">=" else value <= bar)
        missed += not kept
        print("%s: %.2f%s" % (what, value, " (%s %g)%s" % (compare, bar, "" if kept else " MISSED") if compare else ""))
    return missed > 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
