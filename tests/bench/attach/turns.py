"""Throughput of a recorded job over the plain one, in short turns: the jobs run all the time, one goes on while the others are stopped (SIGSTOP to the
process group), in random order within a round. Slow and fast minutes of the machine meet all of them alike, and what a job did in a turn that it
did not finish counts in its next one. A turn takes a second or more: what the collector does once a second it does once a turn. One start of a job may
be faster than another by percents for as long as it runs (where its memory lies), and so may the first of three. All are started anew several times,
in random order. `control` is the plain job once more: its interval says what this machine can tell.

A row is the ratio to the plain job over all turns, with its 95 % interval (bootstrap over the starts).

turns.py PIPEPROBE images ROOT | tokens FILE  [--turn SECONDS] [--rounds N] [--starts N]"""

import argparse
import os
import random
import signal
import struct
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
COUNTERS = 3  # loader_job.py's: its trainer and 2 workers
TICK_S = 1 / os.sysconf("SC_CLK_TCK")


class Job:
    """A job in a session of its own, stopped except in its turns."""

    def __init__(self, name, a, directory):
        self.name, self.path = name, "%s/%s.taken" % (directory, name)
        with open(self.path, "wb") as f:
            f.write(bytes(8 * COUNTERS))
        command = [sys.executable, HERE + "/loader_job.py", a.what, a.data, "--length", str(a.length), "--taken", self.path]
        if name == "pipeprobe":
            command = [a.pipeprobe, "exec", "-q", "--force", "-o", directory + "/run.sqlite", "--"] + command
        self.process = subprocess.Popen(command, start_new_session=True, cwd=directory, stdout=subprocess.DEVNULL)

    def taken(self):
        with open(self.path, "rb") as f:
            return sum(struct.unpack("=%dq" % COUNTERS, f.read()))

    def signal(self, number):
        os.killpg(self.process.pid, number)

    def cpu_s(self):
        """Of all processes of the session, and of their children that have ended."""
        total = 0
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open("/proc/%s/stat" % pid) as f:
                    fields = f.read().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[3]) == self.process.pid:
                total += sum(map(int, fields[11:15]))
        return total * TICK_S

    def turn(self, seconds):
        """Samples, seconds, CPU time."""
        cpu, taken, t = self.cpu_s(), self.taken(), time.monotonic()
        self.signal(signal.SIGCONT)
        time.sleep(seconds)
        self.signal(signal.SIGSTOP)
        return self.taken() - taken, time.monotonic() - t, self.cpu_s() - cpu

    def end(self):
        self.signal(signal.SIGKILL)
        self.process.wait()


def one_start(a, batch, draw):
    """Of each job its turns."""
    with tempfile.TemporaryDirectory() as directory:
        jobs = []
        try:
            for name in draw.sample(("plain", "control", "pipeprobe"), 3):
                jobs.append(Job(name, a, directory))
                while jobs[-1].taken() < 20 * batch:
                    if jobs[-1].process.poll() is not None:
                        sys.exit("%s ended by itself" % name)
                    time.sleep(0.05)
                jobs[-1].turn(2)
            turns = {j.name: [] for j in jobs}
            for _ in range(a.rounds):
                for job in draw.sample(jobs, len(jobs)):
                    turns[job.name].append(job.turn(a.turn))
        finally:
            for j in jobs:
                j.end()
    return turns


def main():
    p = argparse.ArgumentParser()
    p.add_argument("pipeprobe", type=os.path.abspath)
    p.add_argument("what", choices=("images", "tokens"))
    p.add_argument("data", type=os.path.abspath)
    p.add_argument("--length", type=int, default=256)
    p.add_argument("--turn", type=float, default=1)
    p.add_argument("--rounds", type=int, default=15)
    p.add_argument("--starts", type=int, default=20)
    a = p.parse_args()
    starts = [one_start(a, 32 if a.what == "images" else 256, random.Random(k)) for k in range(a.starts)]

    def figures(name, drawn):
        """Samples per second and CPU time per sample of some starts."""
        samples, seconds, cpu = map(sum, zip(*(t for i in drawn for t in starts[i][name])))
        return samples / seconds, cpu / samples

    def ratios(name, drawn):
        return [of / over for of, over in zip(figures(name, drawn), figures("plain", drawn))]

    every = range(a.starts)
    rate, cpu = figures("plain", every)
    print("%s, 2 workers: %.0f samples/s, %.1f us of CPU each, %d starts, %d turns of %.2f s in each" % (a.what, rate, 1e6 * cpu, a.starts, a.rounds, a.turn))
    print("%-10s %-28s %-28s" % ("over plain", "samples/s", "CPU time per sample"))
    for name in ("control", "pipeprobe"):
        drawn = [ratios(name, random.Random(k).choices(every, k=a.starts)) for k in range(1000)]
        row = "%-10s" % name
        for value, many in zip(ratios(name, every), zip(*drawn)):
            many = sorted(many)
            row += " %.4f (%.4f to %.4f)   " % (value, many[25], many[974])
        print(row)


if __name__ == "__main__":
    main()
