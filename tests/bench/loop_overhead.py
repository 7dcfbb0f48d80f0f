"""loop_overhead.py PIPEPROBE [ROUNDS]: what `exec` costs a loop of the job's own whose elements take 1 ms of a CPU, with a queue, a pool of threads and a pool
of processes. A round is plain, recorded, plain; both figures are medians over the rounds: recorded over the mean of its neighbours, and the second plain run over
the first, the control. The rate is elements/s; CPU time is that of the job and its processes."""
import json
import os
import statistics
import subprocess
import sys
import tempfile

JOB = """
import json, multiprocessing, queue, sys, threading, time
from concurrent.futures import ThreadPoolExecutor
import torch

kind, n, turns = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])

def make(i):
    x = 0
    for k in range(turns):
        x += k
    return i

def thread():
    q = queue.Queue(8)
    def produce():
        for i in range(n):
            q.put(make(i))
        q.put(None)
    threading.Thread(target=produce).start()
    return iter(q.get, None)

def threads():
    with ThreadPoolExecutor(2) as pool:
        ahead = [pool.submit(make, i) for i in range(8)]
        for i in range(n):
            future = ahead.pop(0)
            ahead.append(pool.submit(make, i))
            yield future.result()

def processes():
    with multiprocessing.get_context("fork").Pool(1) as pool:
        yield from pool.imap(make, range(n))

weight = torch.zeros(1, requires_grad=True)
def train(count):
    begun = time.perf_counter()
    for i, element in enumerate(count):
        if i % 20 == 0:
            (weight * 2).sum().backward()
    return time.perf_counter() - begun
took = train(globals()[kind]())
print(json.dumps({"rate": n / took}))
"""


def turns_of_1_ms():
    """The smallest of some, beside whatever else runs."""
    code = "import time\nb=9\nfor _ in range(40):\n a=time.thread_time(); x=0\n for k in range(20000): x+=k\n b=min(b,time.thread_time()-a)\nprint(int(20000*1e-3/b))"
    return int(subprocess.run([sys.executable, "-c", "def f():\n " + code.replace("\n", "\n ") + "\nf()"], capture_output=True, text=True, check=True).stdout)


def once(command):
    out = subprocess.run(command, capture_output=True, text=True, check=True, env=dict(os.environ, OMP_NUM_THREADS="1")).stdout
    return json.loads(out.splitlines()[-1])["rate"]


def main():
    pipeprobe, rounds = sys.argv[1], int(sys.argv[2]) if sys.argv[2:] else 5
    turns = turns_of_1_ms()
    print("elements of %d turns; %d rounds; load %.1f" % (turns, rounds, os.getloadavg()[0]))
    with tempfile.TemporaryDirectory() as scratch:
        for kind in ("thread", "threads", "processes"):
            job = [sys.executable, "-c", JOB, kind, "2000", str(turns)]
            record = [pipeprobe, "exec", "-q", "--force", "-o", os.path.join(scratch, "r.sqlite"), "--"]
            rates, control = [], []
            for _ in range(rounds):
                first, recorded, second = once(job), once(record + job), once(job)
                rates.append(recorded / statistics.mean((first, second)))
                control.append(second / first)
            said = ["%.3f (%.3f to %.3f)" % (statistics.median(r), min(r), max(r)) for r in (rates, control)]
            print("%-10s rate with over without %s; control %s" % (kind, *said), flush=True)


main()
