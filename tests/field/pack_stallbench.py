#!/usr/bin/env python3
"""pack_stallbench.py KEEP... OUT: recordings of field jobs as StallBench has them. KEEP are the directories of `run.py --quick --keep`; of a job that was
recorded several times, the recording with the least load by other programs is taken. Each goes to OUT/NAME.sqlite.gz without this machine's paths, host
and other programs' names, and labels.json says what is true of it. DATA in the environment: where run.py had its data. It is run by the jobs' Python.

A stall is in when its intervention, measured in the same session, gained at least 20 %; a control is in as it is. What pipeprobe says decides nothing."""
import gzip
import json
import os
import re
import socket
import sqlite3
import sys

from run import TOP, truths

sys.path.insert(0, os.path.join(TOP, "samples/stallbench"))
from stallbench import Recording, others  # noqa: E402

LEAST_GAIN = 0.2
# The function that holds the line to change; of an argument of the DataLoader there is none.
LINES = {
    "heavy_augmentation": "__getitem__",
    "large_jpegs": "__getitem__",
    "whole_array_per_sample": "__getitem__",
    "gzip_json_samples": "__getitem__",
    "collate_pads_in_python": "__call__",
    "iterator_per_step": "iterator_per_step.py:2[0-9]$",
    "targets_of_small_tensors": "as_dicts",
    "http_per_sample": "__getitem__",
}


def cleaned(text, data):
    for what, by in ((data, "/data"), (TOP, "/pipeprobe"), (sys.prefix, "/venv"), (sys.base_prefix, "/usr"), (socket.gethostname(), "host")):
        text = text.replace(what, by) if what else text
    text = re.sub(r"/\S*(?=/python/attach/)", "/pipeprobe", text)
    return re.sub(r"^[^()]* \(\w+\), (?=[0-9.]+ % of the CPUs)", "another program (user), ", text)


def clean(db, data):
    """Every text of every table, and nothing else."""
    for table, in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
        for column in [row[1] for row in db.execute(f'PRAGMA table_info("{table}")')]:
            for old, in db.execute(f'SELECT DISTINCT "{column}" FROM "{table}" WHERE typeof("{column}") = \'text\'').fetchall():
                new = cleaned(old, data)
                if new != old:
                    db.execute(f'UPDATE "{table}" SET "{column}" = ? WHERE "{column}" = ?', (new, old))


def rates_of(keep, job):
    """Without and with the change; None where one is missing."""
    rates = []
    for end in (".out", ".fixed.out"):
        try:
            with open(os.path.join(keep, job + end)) as f:
                rates += re.findall(r"^rate ([0-9.]+)", f.read(), re.M)[:1]
        except OSError:
            return None
    return [float(r) for r in rates] if len(rates) == 2 else None


def main():
    keeps, out = sys.argv[1:-1], sys.argv[-1]
    data = os.environ.get("DATA", os.path.join(TOP, "build/field/data"))
    labels = []
    for truth in truths():
        job, control = truth["job"], truth["kind"] == "control"
        had = sorted((others(Recording(os.path.join(k, job + ".sqlite"), None)), k) for k in keeps if rates_of(k, job))
        if not had:
            continue
        keep = had[0][1]
        before, after = rates_of(keep, job)
        if not control and after / before - 1 < LEAST_GAIN:
            print(f"left out: {job}: its change gained {after / before - 1:+.0%}")
            continue
        path = os.path.join(out, job + ".sqlite")
        with sqlite3.connect(f"file:{keep}/{job}.sqlite?mode=ro", uri=True) as old, sqlite3.connect(path) as new:
            old.backup(new)
        new.execute("PRAGMA journal_mode = DELETE")
        clean(new, data)
        new.commit()
        new.execute("VACUUM")
        new.close()
        with open(path, "rb") as f, open(path + ".gz", "wb") as g:
            g.write(gzip.compress(f.read(), 9, mtime=0))
        os.remove(path)
        labels.append({"job": job, "kind": truth["kind"], "waits": not control, "cause": truth["cause"], "line": LINES.get(job), "source": truth["source"],
                       "intervention": {"change": f"tests/field/jobs/{job}.py {truth.get('args', '--fix')}", "rate_before": before, "rate_after": after,
                                        "gain": round(after / before - 1, 3)}})
    with open(os.path.join(out, "labels.json"), "w") as f:
        json.dump(labels, f, indent=1)
        f.write("\n")
    print(f"{len(labels)} recordings, {sum(l['waits'] for l in labels)} stalls")


if __name__ == "__main__":
    main()
