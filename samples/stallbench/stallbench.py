#!/usr/bin/env python3
"""stallbench.py [--tool FILE.py]... [--pipeprobe PROGRAM] [--page FILE.md]: what tools say of the labelled recordings beside this file, as a table.

Labels are labels.json. A tool is a function of a FILE.py with the name `judge`: it gets a Recording and returns (waits, named): whether training waits
for data (None: it does not say), and a text that names the cause. TITLE is its name, LABEL the label that its text is held against: "cause" (codes of
pipeprobe), "line" (FUNCTION FILE:LINE) or one that your labels have besides. --page puts the table between the marks of a page."""
import argparse
import collections
import gzip
import json
import os
import re
import runpy
import shutil
import sqlite3
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
BEGIN, END = "<!-- stallbench -->\n", "<!-- end of stallbench -->\n"
Tool = collections.namedtuple("Tool", "title label judge")


class Recording:
    """A recording, unpacked: .path for programs, .rows(sql) for what it holds, .phases: seconds by (lane, phase)."""

    def __init__(self, path, pipeprobe):
        self.path, self.pipeprobe = path, pipeprobe
        self.phases = {(lane, phase): s for lane, phase, s in self.rows("SELECT lane, phase, sum(total_s) FROM v_phase_summary GROUP BY lane, phase")}

    def rows(self, sql):
        with sqlite3.connect(f"file:{self.path}?mode=ro", uri=True) as db:
            return db.execute(sql).fetchall()


def pipeprobe(recording):
    done = subprocess.run([recording.pipeprobe, "report", "--json", recording.path], capture_output=True, text=True)
    if not done.stdout.strip():
        sys.exit(f"stallbench: pipeprobe report {recording.path}: {done.stderr.strip()}")
    page = json.loads(done.stdout)
    v = page["verdict"]
    found = " ".join(f["kind"] for f in page.get("findings", []) if f["state"] == "found")
    then = f" :{v.get('then_l1')}/{v.get('then_l2')} " if v.get("then") else ""
    waits = {"input-bound": True, "not input-bound": False}.get(v["l0"].replace("not-input", "not input"))
    return waits, f"{v['l0']}:{v.get('l1') or ''}/{v.get('l2') or ''}{then} {found}"


def share_of_wait(recording):
    """TraceML's threshold: input from 10 % of the step on, the step with its wait. It names no cause beyond that."""
    wait, step = (recording.phases.get(("trainer", p), 0) for p in ("data_wait", "step"))
    return (None if wait + step == 0 else wait / (wait + step) >= 0.1), ""


def hottest_line(recording):
    """What py-spy top and a flame graph show first: the job's own line that is on a CPU most often, by the innermost frame of a file outside libraries."""
    frames = {i: (parent, function, file, line) for i, parent, function, file, line in recording.rows(
        "SELECT s.id, s.parent, f.function, f.file, s.line FROM stack s JOIN stack_function f ON f.id = s.function")}
    hits = collections.Counter()
    for stack, n in recording.rows("SELECT stack, sum(n) FROM (SELECT stack, 1 AS n FROM stack_sample WHERE state = 'R' UNION ALL "
                                   "SELECT stack, n FROM stack_rollup WHERE state = 'R') GROUP BY stack"):
        while stack in frames:
            parent, function, file, line = frames[stack]
            if not re.search(r"/lib/|/usr/|^<|site-packages", file):
                hits[f"{function} {os.path.basename(file)}:{line}"] += n
                break
            stack = parent
    return None, hits.most_common(1)[0][0] if hits else ""


TOOLS = [Tool("pipeprobe", "cause", pipeprobe), Tool("TraceML's threshold", "", share_of_wait), Tool("hottest line (py-spy)", "line", hottest_line)]


def others(recording):
    """The share of the CPUs that the largest other programs took."""
    rows = recording.rows("SELECT value FROM meta WHERE section = 'environment' AND key LIKE 'other_process_%'")
    return sum(float(m.group(1)) for value, in rows for m in [re.search(r"([0-9.]+) % of the CPUs", value)] if m) / 100


def mark(right):
    return {True: "right", False: "wrong", None: "-"}[right]


def table(labels, tools, program, folder):
    """The rows of the table, and the sums below it."""
    lines = ["| recording | waits | gain of the change | others | " + " | ".join(f"{t.title}: waits, cause" for t in tools) + " |", "|---|---|--:|--:|" + "---|" * len(tools)]
    sums = {t.title: collections.Counter() for t in tools}
    with tempfile.TemporaryDirectory() as scratch:
        for label in labels:
            path = os.path.join(scratch, label["job"] + ".sqlite")
            with gzip.open(os.path.join(folder, label["job"] + ".sqlite.gz")) as packed, open(path, "wb") as out:
                shutil.copyfileobj(packed, out)
            recording, cells = Recording(path, program), []
            for t in tools:
                waits, named = t.judge(recording)
                right = None if waits is None else waits == label["waits"]
                wanted = label.get(t.label)
                cause = None if not label["waits"] or not t.label else bool(wanted and re.search(wanted, named))
                cells.append(f"{mark(right)}, {mark(cause)}")
                sums[t.title].update(waits=bool(right), answers=waits is not None, cause=bool(cause))
            lines.append(f"| {label['job']} | {'yes' if label['waits'] else 'no'} | {label['intervention']['gain']:+.0%} | {others(recording):.0%} | " + " | ".join(cells) + " |")
    stalls = sum(label["waits"] for label in labels)
    cells = [f"{sums[t.title]['waits']} of {len(labels)}, {sums[t.title]['cause']} of {stalls}" for t in tools]
    return lines + [f"| **right** | {stalls} of {len(labels)} | | | " + " | ".join(cells) + " |"]


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--tool", action="append", default=[], help="a further tool: FILE.py with judge(recording), TITLE and LABEL")
    ap.add_argument("--recordings", default=HERE, help="labels.json and NAME.sqlite.gz")
    ap.add_argument("--pipeprobe", default=shutil.which("pipeprobe") or "pipeprobe")
    ap.add_argument("--page", help="the page whose table is replaced")
    opts = ap.parse_args()
    tools = list(TOOLS)
    for file in opts.tool:
        made = runpy.run_path(file)
        tools.append(Tool(made["TITLE"], made["LABEL"], made["judge"]))
    with open(os.path.join(opts.recordings, "labels.json"), encoding="utf-8") as f:
        labels = json.load(f)
    lines = "\n".join(table(labels, tools, opts.pipeprobe, opts.recordings)) + "\n"
    print(lines, end="")
    if opts.page:
        with open(opts.page, encoding="utf-8") as f:
            text = f.read()
        before, rest = text.split(BEGIN)
        with open(opts.page, "w", encoding="utf-8") as f:
            f.write(before + BEGIN + "\n" + lines + "\n" + END + rest.split(END)[1])


if __name__ == "__main__":
    main()
