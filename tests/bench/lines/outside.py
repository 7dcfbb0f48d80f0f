"""outside.py [ONLY] [--build DIR] [--data DIR]: what `attach --outside` says of field jobs beside what `exec` records of the same run: a job runs under exec for
40 s, and attach looks at it for 30 s of them, its default. Data are made below DATA. Exit code 1: a bar is missed."""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, "tests/field")
from run import TOP, truths  # noqa: E402

# Without a server or a mount. The last six are controls.
JOBS = """pandas_iloc hf_nested_lists csv_row_scan whole_array_per_sample gzip_json_samples choice_of_negatives large_jpegs deepcopy_of_annotations
manager_list_of_rows tar_member_scan parquet_row heavy_augmentation resample_kernel one_worker_of_two_loaders
checkpoint_every_25_steps tokens_from_a_map decoding_keeps_up progress_line_each_step model_is_the_cost accumulated_gradients""".split()


def both(o, name):
    """(what attach said, wait that exec recorded in percent, its class)"""
    pipeprobe, script, directory = os.path.join(o.build, "pipeprobe"), "tests/field/jobs/%s.py" % name, os.path.join(o.data, name)
    if "job.data(" in open(script).read():
        subprocess.run([sys.executable, script, "--prepare", "--dir", directory], check=True, stdout=subprocess.DEVNULL)
    with tempfile.TemporaryDirectory() as d:
        out, pid = os.path.join(d, "r.sqlite"), os.path.join(d, "pid")
        command = ["sh", "-c", 'echo $$ >"$0"; exec "$@"', pid, sys.executable, script, "--seconds", "40", "--dir", directory]
        job = subprocess.Popen([pipeprobe, "exec", "-q", "-o", out, "--", *command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        time.sleep(10)  # imports, workers
        text = subprocess.run([pipeprobe, "attach", open(pid).read().strip(), "--outside", "-q", "-d", "30s"], capture_output=True, text=True).stdout
        _, error = job.communicate()
        if job.returncode:
            raise SystemExit("%s ended with %d: %s" % (name, job.returncode, error[-300:]))
        report = json.loads(subprocess.run([pipeprobe, "report", out, "--json"], check=True, stdout=subprocess.PIPE, text=True).stdout)
    return " ".join(text.split()), 100 * report["data_wait_share"], report["verdict"]["l1"] or "none"


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("only", nargs="?", default="")
    ap.add_argument("--build", default=os.path.join(TOP, "build/release"))
    ap.add_argument("--data", default=os.path.join(TOP, "build/field/data"))
    o = ap.parse_args()
    level1 = {t["job"]: t.get("level1", "none") for t in truths()}
    near = right = 0
    jobs = [name for name in JOBS if re.search(o.only, name)]
    for name in jobs:
        text, recorded, exec_class = both(o, name)
        wait = re.search(r"waits for data (\d+) % of the time \((\d+) to (\d+) %\)", text)
        said = re.search(r"\[([^\]]*)\]", text)
        found = "none" if not said or said.group(1).startswith("NOT") else said.group(1).split("-")[0].lower()
        close, fits = wait and abs(int(wait.group(1)) - recorded) <= 3, said and found == level1[name]
        near, right = near + bool(close), right + bool(fits)
        print(
            "%-26s outside %s, exec %.1f %%%s; %s, exec %s: %s"
            % (name, wait.group(0)[15:] if wait else "no wait", recorded, "" if close else " APART", said.group(1) if said else text[:200], exec_class, "right" if fits else "WRONG"),
            flush=True,
        )
    print("waits within 3 points of exec's: %d of %d; class right: %d of %d (>= 90 %%)" % (near, len(jobs), right, len(jobs)))
    return near < len(jobs) or right < 0.9 * len(jobs)


if __name__ == "__main__":
    sys.exit(main())
