#!/usr/bin/env python3
"""tests/resume/order_kills.py [KILLS]: a recorded job is killed with SIGKILL, pipeprobe and all, at a random moment; the order in its recording against the
job's own log. Each batch that the job took before the kill is to be in the recording with its samples in their order, and none that its sampler did not give.

Of the log the last line may be cut, and a batch may be in the recording that the job had no time to log. Exit code 1: an order is not complete.

No job outlives this program: its group is killed at the end, whatever that end is, and a job ends by itself where its recorder or this program has gone, or
after 120 s."""
import collections
import glob
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PP = os.path.join(TOP, os.environ.get("BUILD", "build/release"), "pipeprobe")

JOB = """
import os, sys, time, torch
from torch.utils.data import DataLoader
given, taken = (os.open(sys.argv[1] + name, os.O_WRONLY | os.O_CREAT | os.O_APPEND) for name in ("given", "taken"))
workers, step, killer = int(sys.argv[2]), float(sys.argv[3]), "/proc/" + sys.argv[4]
recorder, until = os.getppid(), time.monotonic() + 120
class Order(torch.utils.data.Sampler):
    def __init__(self):
        self.epoch = -1
    def __iter__(self):
        self.epoch += 1
        for i in torch.randperm(203, generator=torch.Generator().manual_seed(self.epoch)).tolist():
            os.write(given, b"%d %d\\n" % (self.epoch, i))
            yield i
    def __len__(self):
        return 203
weight = torch.nn.Parameter(torch.zeros(1))
loader = DataLoader(torch.arange(203.0)[:, None], 8, sampler=Order(), num_workers=workers)
for epoch in range(100000):
    for x in loader:
        if os.getppid() != recorder or not os.path.exists(killer) or time.monotonic() > until:
            sys.exit("nobody kills this job")
        os.write(taken, b"%d %s\\n" % (epoch, b",".join(b"%d" % v for v in x[:, 0])))
        (x * weight).sum().backward()
        time.sleep(step)
"""


def lists(blob):
    """Batches of a list of samples (probe/base/sample_list.h)."""
    numbers, value, shift = [], 0, 0
    for byte in blob:
        value, shift = value | (byte & 127) << shift, shift + 7
        if byte < 128:
            numbers.append(value)
            value, shift = 0, 0
    at, last, batches = 0, 0, []
    while at < len(numbers):
        n, at = numbers[at] - 1, at + 1
        batches.append([])
        for d in numbers[at : at + n]:
            last += d >> 1 ^ -(d & 1)
            batches[-1].append(last)
        at += n
    return batches


def recorded_order(path):
    """Per epoch its batches, by their numbers."""
    subprocess.run([PP, "report", path], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # what a kill leaves is recovered by reading it
    epochs = collections.defaultdict(dict)
    db = sqlite3.connect(path)
    for epoch, first, blob in db.execute("SELECT epoch, first_batch, list FROM sample_order ORDER BY id"):
        epochs[epoch].update(enumerate(lists(blob), first))
    return {e: [b[k] for k in sorted(b)] for e, b in epochs.items()}


def lines(path, of):
    with open(path) as f:
        whole = [line for line in f if line.endswith("\n")]
    epochs = collections.defaultdict(list)
    for line in whole:
        epoch, what = line.split()
        epochs[int(epoch)].append(of(what))
    return epochs


def alive(group):
    """Whether a process of the group still runs. One that nobody has waited for (state Z) does not: where process 1 waits for none, it stays for ever. But one
    whose first thread alone has ended has that state too, and its files and locks until its last thread ends."""
    for path in glob.glob("/proc/[0-9]*/stat"):
        try:
            with open(path) as f:
                fields = f.read().rpartition(")")[2].split()
        except OSError:  # it ended meanwhile
            continue
        state, its_group, threads = fields[0], fields[2], fields[17]
        if int(its_group) == group and state != "X" and (state != "Z" or int(threads) > 1):
            return True
    return False


def kill_group(group):
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        pass


def kill_in_the_middle(job, directory, after):
    """Kills the group of the job, as long after its first batch as wanted. None, or what is wrong."""
    until = time.monotonic() + 120
    while not (os.path.exists(directory + "/taken") and os.path.getsize(directory + "/taken")):
        if job.poll() is not None or time.monotonic() > until:
            return "the job did not begin: " + open(directory + "/err").read()[-300:]
        time.sleep(0.01)
    time.sleep(after)
    if job.poll() is not None:
        return "the job ended before it was killed: " + open(directory + "/err").read()[-300:]
    kill_group(job.pid)
    job.wait()
    until = time.monotonic() + 30
    while alive(job.pid):
        if time.monotonic() > until:
            return "processes of the job run on, 30 s after SIGKILL"
        time.sleep(0.01)
    return None


def kill_once(directory, draw):
    """None, or what is wrong; and how many batches the job had taken."""
    workers, step, after = draw.choice((0, 1, 2)), draw.choice((0, 0.001, 0.01)), draw.uniform(0, 0.6)
    words = [PP, "exec", "--quiet", "-o", directory + "/r.sqlite", "--", os.environ.get("PYTHON", "/usr/bin/python3"), directory + "/job.py", directory + "/", str(workers), str(step), str(os.getpid())]
    os.mkdir(directory)
    with open(directory + "/job.py", "w") as f:
        f.write(JOB)
    job = subprocess.Popen(words, start_new_session=True, stdout=subprocess.DEVNULL, stderr=open(directory + "/err", "w"))
    try:
        wrong = kill_in_the_middle(job, directory, after)
    finally:
        kill_group(job.pid)
    if wrong:
        return wrong, 0
    given = lines(directory + "/given", int)
    taken = lines(directory + "/taken", lambda ids: [int(i) for i in ids.split(",")])
    order = recorded_order(directory + "/r.sqlite")
    for epoch, batches in taken.items():
        if order.get(epoch, [])[: len(batches)] != batches:
            k = next(k for k, b in enumerate(batches) if order.get(epoch, [])[k : k + 1] != [b])
            return f"epoch {epoch}, batch {k} of {len(batches)} that were taken is not in the recording ({len(order.get(epoch, []))} batches)", 0
    for epoch, batches in order.items():
        flat = [i for b in batches for i in b]
        if flat != given[epoch][: len(flat)] and flat[: len(given[epoch])] != given[epoch]:
            return f"epoch {epoch}: the recording has samples that the sampler did not give", 0
    return None, sum(map(len, taken.values()))


def main():
    kills, draw = int(sys.argv[1]) if len(sys.argv) > 1 else 100, random.Random(int(os.environ.get("SEED", "1")))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    base = tempfile.mkdtemp(prefix="order-kills-")
    complete = batches = 0
    for k in range(kills):
        try:
            wrong, n = kill_once(os.path.join(base, str(k)), draw)
        except SystemExit:  # SIGTERM
            shutil.rmtree(base)
            raise
        complete, batches = complete + (wrong is None), batches + n
        if wrong:
            print(f"kill {k}: {wrong}", flush=True)
        else:
            shutil.rmtree(os.path.join(base, str(k)))
    print(f"{complete} of {kills} orders complete behind SIGKILL, {batches} batches")
    if complete == kills:
        shutil.rmtree(base)
    sys.exit(0 if kills and complete == kills else 1)


main()
