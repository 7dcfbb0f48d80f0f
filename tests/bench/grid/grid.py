#!/usr/bin/env python3
"""grid.py PIPEPROBE [ONLY]: 30 jobs, their grid of DataLoader settings, and what a script makes of `pipeprobe answer` that reads its machine fields alone.

Per job: the start is recorded (exec, SECONDS), the script takes `path`, all of its changes at once, or leaves the job as it is where `stop` says so; then the
grid, the start and the script's setting take turns in one process, ROUNDS times. Right: at least 90 % of the best rate of all that was measured. A job that no
setting helps (none gains 15 %) needs a `stop`. A line per job goes to KEEP/results.tsv; jobs that are there are not run again (measured.tsv is such a file, of 30 November 2026).

Then `pipeprobe verify` judges the script's setting against the start, or where that is the start the best other one of the grid. It is wrong where it says
`fixed` or `improved` of what gained less than 3 % in the grid. KEEP/verified.tsv has a line of each."""
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SECONDS, PLAIN, ROUNDS = float(os.environ.get("SECONDS_EACH", 8)), float(os.environ.get("PLAIN", 2.5)), int(os.environ.get("ROUNDS", 2))
KEEP = os.environ.get("KEEP", "build/grid")
GRID = [
    "num_workers=0",
    "num_workers=1",
    "num_workers=2",
    "num_workers=4",
    "num_workers=8",
    "num_workers=16",
    "num_workers=2,persistent_workers=1",
    "num_workers=4,persistent_workers=1,prefetch_factor=8",
    "num_workers=4,in_order=0",
]
# Times are in ms: a sample's wait and CPU time, the step's sleep (a device) and CPU time, a batch's collating; tail: every Nth sample waits so much longer;
# locked: what a sample does one at a time.
JOBS = {
    "waits_one_worker": dict(wait=10, step=5, batch=8, start="num_workers=1"),
    "waits_two_workers": dict(wait=20, step=10, batch=16, start="num_workers=2"),
    "waits_in_the_trainer": dict(wait=5, cpu=0.5, step=10, batch=8, start="num_workers=0"),
    "waits_long": dict(wait=40, step=5, batch=4, start="num_workers=4"),
    "waits_a_little": dict(wait=3, step=2, batch=8, start="num_workers=1"),
    "waits_beside_long_steps": dict(wait=15, step=30, batch=16, start="num_workers=1"),
    "cpu_one_worker": dict(cpu=4, step=20, batch=8, start="num_workers=1"),
    "cpu_in_the_trainer": dict(cpu=3, step=20, batch=8, start="num_workers=0"),
    "cpu_long_steps": dict(cpu=6, step=40, batch=8, start="num_workers=1"),
    "both_one_worker": dict(cpu=1, wait=8, step=8, batch=8, start="num_workers=1"),
    "both_two_workers": dict(cpu=1, wait=8, step=8, batch=8, start="num_workers=2"),
    "both_evenly": dict(cpu=2, wait=6, step=16, batch=8, start="num_workers=1"),
    "epochs_of_waits": dict(wait=2, step=4, batch=8, samples=128, start="num_workers=2"),
    "epochs_of_work": dict(cpu=1, step=8, batch=8, samples=160, start="num_workers=2"),
    "epochs_one_worker": dict(wait=4, step=4, batch=8, samples=256, start="num_workers=1"),
    "epochs_many_workers": dict(cpu=0.2, wait=0.2, step=2, batch=8, samples=160, start="num_workers=8"),
    "epochs_in_the_trainer": dict(wait=3, step=10, batch=8, samples=400, start="num_workers=0"),
    "tiny_samples": dict(cpu=0.02, step=0.1, batch=4, start="num_workers=2"),
    "tiny_batches_of_one": dict(cpu=0.05, step=0, batch=1, start="num_workers=2"),
    "many_tensors": dict(tensors=24, step=0.5, batch=4, start="num_workers=2"),
    "late_samples": dict(wait=2, tail=(64, 300), step=10, batch=8, start="num_workers=4"),
    "late_samples_often": dict(wait=2, tail=(31, 150), step=6, batch=4, start="num_workers=4,prefetch_factor=1"),
    "uneven_samples": dict(wait=8, jitter=1, step=12, batch=4, start="num_workers=2,prefetch_factor=1"),
    "work_on_all_cpus": dict(cpu=8, step=1, batch=8, start="num_workers=2"),
    "one_at_a_time": dict(locked=5, step=1, batch=8, start="num_workers=2"),
    "steps_of_a_device": dict(cpu=0.5, step=40, batch=8, start="num_workers=2"),
    "steps_long": dict(wait=4, step=50, batch=8, start="num_workers=4"),
    "steps_of_the_cpu": dict(cpu=0.2, step_cpu=30, batch=8, start="num_workers=2"),
    "collating_on_all_cpus": dict(cpu=1, collate=40, step=1, batch=8, start="num_workers=2"),
    "in_time_for_two": dict(wait=6, step=40, batch=8, start="num_workers=2"),
}


def answered(pipeprobe, name):
    """The answer of a recorded start."""
    file = os.path.join(KEEP, name + ".sqlite")
    subprocess.run(
        [pipeprobe, "exec", "-o", file, "--force", "--", sys.executable, os.path.join(HERE, "job.py"), name, str(SECONDS), JOBS[name]["start"]],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True,
    )
    return json.loads(subprocess.run([pipeprobe, "answer", file], stdout=subprocess.PIPE).stdout)  # 3: inconclusive


def of_text(setting):
    return dict(part.split("=") for part in setting.split(",") if part)


def to_text(setting):
    return ",".join("%s=%s" % part for part in setting.items())


def chosen(answer, start):
    """The setting that a script takes: the whole path of changes that are settings, or the start."""
    setting = of_text(start)
    for change in [] if answer["stop"] else answer["path"]:
        for key, value in change["set"].items():
            if key in ("num_workers", "prefetch_factor", "persistent_workers", "in_order"):
                setting[key] = int(value)
    if int(setting["num_workers"]) == 0:
        setting = {"num_workers": 0}
    return to_text(setting)


def rates(name, settings):
    found = {s: [] for s in settings}
    for _ in range(ROUNDS):
        out = subprocess.run(
            [sys.executable, os.path.join(HERE, "job.py"), name, str(PLAIN), *settings], stdout=subprocess.PIPE, text=True, check=True
        ).stdout
        for setting, rate in re.findall(r"^(\S+) rate ([0-9.]+)", out, re.M):
            found[setting].append(float(rate))
    return {s: statistics.median(r) for s, r in found.items()}


def edited_to(start, setting, measured):
    """What verify is asked about."""
    return setting if setting != start else max((s for s in measured if s != start), key=measured.get)


def verified(pipeprobe, name, setting):
    """(outcome, its gain, predicted gain)"""
    file = os.path.join(KEEP, name + ".sqlite")
    job = [sys.executable, os.path.join(HERE, "job.py"), name, "100", setting]
    with tempfile.TemporaryDirectory() as directory:
        words = [pipeprobe, "verify", file, "--yes", "-q", "-d", "3s", "--max-runs", "4", "--json", "-o", os.path.join(directory, "runs"), "--", *job]
        said = json.loads(subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout)
    return [said["outcome"], *((said[key] or {}).get("gain") for key in ("measured", "predicted"))]


def verify_all(pipeprobe, rows, only):
    file = os.path.join(KEEP, "verified.tsv")
    done = {line.split("\t")[0]: line.strip().split("\t") for line in open(file)} if os.path.exists(file) else {}
    wrong = 0
    for name, line in rows.items():
        if not re.search(only, name):
            continue
        start, setting, measured = line.split("\t")[1], line.split("\t")[2], json.loads(line.split("\t")[9])
        to = edited_to(start, setting, measured)
        if name not in done:
            done[name] = [name, to, *map(str, verified(pipeprobe, name, to))]
            with open(file, "a") as kept:
                kept.write("\t".join(done[name]) + "\n")
        gain = measured[to] / measured[start] - 1
        bad = done[name][2] in ("fixed", "improved") and gain < 0.03
        wrong += bad
        print("%-24s %-34s %-34s grid %+7.1f %% %s %s" % (name, start, to, 100 * gain, " ".join(done[name][2:4]), "WRONG" if bad else ""), flush=True)
    print("`fixed` or `improved` where the grid has no gain of 3 %%: %d of %d" % (wrong, len(done)))


def main():
    os.makedirs(KEEP, exist_ok=True)
    results = os.path.join(KEEP, "results.tsv")
    rows = {line.split("\t")[0]: line for line in open(results)} if os.path.exists(results) else {}
    for name, job in JOBS.items():
        if name in rows or not re.search(sys.argv[2] if len(sys.argv) > 2 else "", name):
            continue
        answer = answered(sys.argv[1], name)
        setting = chosen(answer, job["start"])
        measured = rates(name, list(dict.fromkeys([job["start"], setting, *GRID])))
        best = max(measured, key=measured.get)
        cause = "%s/%s" % (answer["class"], answer["cause"])
        row = [name, job["start"], setting, best, "%.1f" % measured[job["start"]], "%.1f" % measured[setting], "%.1f" % measured[best], str(answer["stop"]), cause]
        rows[name] = "\t".join([*row, json.dumps(measured)]) + "\n"
        with open(results, "a") as file:
            file.write(rows[name])
    right = stops = fixed = 0
    print("%-24s %-34s %-34s %8s %6s  %s" % ("job", "start", "the script's", "of best", "gain", "stop"))
    for line in rows.values():
        name, start, setting, best, at_start, at_setting, at_best, stop, cause, _ = line.split("\t")
        part, gain = float(at_setting) / float(at_best), float(at_setting) / float(at_start)
        helps = float(at_best) >= 1.15 * float(at_start)
        right += part >= 0.9
        fixed += not helps
        stops += not helps and stop != "None"
        best = "" if part >= 0.9 else "best: " + best
        print("%-24s %-34s %-34s %7.0f%% %6.2f  %s %s %s" % (name, start, "" if setting == start else setting, 100 * part, gain, stop, cause, best))
    print("at least 90 %% of the best rate: %d of %d; `stop` where no setting gains 15 %%: %d of %d" % (right, len(rows), stops, fixed))
    verify_all(sys.argv[1], rows, sys.argv[2] if len(sys.argv) > 2 else "")


if __name__ == "__main__":
    main()
