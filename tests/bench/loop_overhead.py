"""loop_overhead.py PIPEPROBE [ROUNDS]: what `exec` costs a loop of the job's own whose elements take 1 ms, with a queue, a pool of threads and a pool of
processes. A round is plain, recorded, plain; figures are medians over the rounds. The rate, of elements that take 1 ms of a CPU: recorded over the mean of its
neighbours, and the second plain run over the first, the control. CPU time, of elements that sleep 1 ms, so that it is little but the loop's and ours: what the
job and its processes use more per element, behind the first 500; the control is the difference of the two plain runs."""
import json
import os
import statistics
import subprocess
import sys
import tempfile

JOB = """
import json, multiprocessing, queue, resource, sys, threading, time
from concurrent.futures import ThreadPoolExecutor
import torch

kind, n, turns = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])

def make(i):
    if not turns:
        time.sleep(0.001)
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
    pool = multiprocessing.get_context("fork").Pool(1)
    yield from pool.imap(make, range(n))
    pool.close()
    pool.join()

def cpu():
    return sum(u.ru_utime + u.ru_stime for u in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))

weight = torch.zeros(1, requires_grad=True)
def train(count):
    for i, element in enumerate(count):
        if i == WARM:
            begun, used = time.perf_counter(), cpu()
        if i % 20 == 0:
            (weight * 2).sum().backward()
    return {"rate": (n - WARM) / (time.perf_counter() - begun), "cpu_us": 1e6 * (cpu() - used) / (n - WARM)}
WARM = 500
print(json.dumps(train(globals()[kind]())))
"""


def turns_of_1_ms():
    """The smallest of some, beside whatever else runs."""
    code = "import time\nb=9\nfor _ in range(40):\n a=time.thread_time(); x=0\n for k in range(20000): x+=k\n b=min(b,time.thread_time()-a)\nprint(int(20000*1e-3/b))"
    return int(subprocess.run([sys.executable, "-c", "def f():\n " + code.replace("\n", "\n ") + "\nf()"], capture_output=True, text=True, check=True).stdout)


def once(command):
    out = subprocess.run(command, capture_output=True, text=True, check=True, env=dict(os.environ, OMP_NUM_THREADS="1")).stdout
    return json.loads(out.splitlines()[-1])


def main():
    pipeprobe, rounds = sys.argv[1], int(sys.argv[2]) if sys.argv[2:] else 5
    turns = turns_of_1_ms()
    print("elements of %d turns; %d rounds; load %.1f" % (turns, rounds, os.getloadavg()[0]))
    with tempfile.TemporaryDirectory() as scratch:
        for kind in ("thread", "threads", "processes"):
            record = [pipeprobe, "exec", "-q", "--force", "-o", os.path.join(scratch, "r.sqlite"), "--"]
            for what, spins in (("rate", turns), ("cpu_us", 0)):
                job = [sys.executable, "-c", JOB, kind, "2000", str(spins)]
                cost, control = [], []
                for _ in range(rounds):
                    first, recorded, second = (once(command)[what] for command in (job, record + job, job))
                    cost.append(recorded / statistics.mean((first, second)) if spins else recorded - statistics.mean((first, second)))
                    control.append(second / first if spins else second - first)
                said = ["%.3g (%.3g to %.3g)" % (statistics.median(r), min(r), max(r)) for r in (cost, control)]
                print("%-10s %s %s; control %s" % (kind, "rate with over without" if spins else "CPU us more an element", *said), flush=True)


main()
