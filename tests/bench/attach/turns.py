"""Throughput of a recorded job over the plain one, in short turns: the jobs run all the time, one goes on while the others are stopped (SIGSTOP to the
process group), in random order within a round. Slow and fast minutes of the machine meet all of them alike, and what a job did in a turn that it
did not finish counts in its next one. A turn takes a second or more: what the collector does once a second it does once
a turn. `control` is the plain job once more: its interval says what this machine can tell.

A row is the ratio to the plain job over all turns, with its 95 % interval (bootstrap over blocks of rounds).

turns.py PIPEPROBE images ROOT | tokens FILE  [--turn SECONDS] [--rounds N] [--block ROUNDS]"""

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
TICK_S = 1 / os.sysconf("SC_CLK_TCK")


class Job:
    """A job in a session of its own, stopped except in its turns."""

    def __init__(self, name, a, directory):
        self.name, self.path = name, "%s/%s.taken" % (directory, name)
        with open(self.path, "wb") as f:
            f.write(bytes(8))
        command = [sys.executable, HERE + "/loader_job.py", a.what, a.data, "--length", str(a.length), "--taken", self.path]
        if name == "pipeprobe":
            command = [a.pipeprobe, "exec", "-q", "--force", "-o", directory + "/run.sqlite", "--"] + command
        self.process = subprocess.Popen(command, start_new_session=True, cwd=directory, stdout=subprocess.DEVNULL)

    def taken(self):
        with open(self.path, "rb") as f:
            return struct.unpack("=q", f.read(8))[0]

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
        """Batches taken, seconds, CPU time."""
        cpu, taken, t = self.cpu_s(), self.taken(), time.monotonic()
        self.signal(signal.SIGCONT)
        time.sleep(seconds)
        self.signal(signal.SIGSTOP)
        return self.taken() - taken, time.monotonic() - t, self.cpu_s() - cpu

    def end(self):
        self.signal(signal.SIGKILL)
        self.process.wait()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("pipeprobe", type=os.path.abspath)
    p.add_argument("what", choices=("images", "tokens"))
    p.add_argument("data", type=os.path.abspath)
    p.add_argument("--length", type=int, default=256)
    p.add_argument("--turn", type=float, default=1)
    p.add_argument("--rounds", type=int, default=300)
    p.add_argument("--block", type=int, default=10)
    a = p.parse_args()
    batch = 32 if a.what == "images" else 256
    with tempfile.TemporaryDirectory() as directory:
        jobs = []
        try:
            for name in ("plain", "control", "pipeprobe"):
                jobs.append(Job(name, a, directory))
                while jobs[-1].taken() < 20:
                    if jobs[-1].process.poll() is not None:
                        sys.exit("%s ended by itself" % name)
                    time.sleep(0.05)
                jobs[-1].turn(3)
            turns = {j.name: [] for j in jobs}
            for r in range(a.rounds):
                for job in random.Random(r).sample(jobs, len(jobs)):
                    turns[job.name].append(job.turn(a.turn))
        finally:
            for j in jobs:
                j.end()

    def figures(some):
        """Samples per second and CPU time per sample of some turns."""
        taken, seconds, cpu = map(sum, zip(*some))
        return batch * taken / seconds, cpu / (batch * taken)

    rate, cpu = figures(turns["plain"])
    print("%s, 2 workers: %.0f samples/s, %.1f us of CPU each, %d turns of %.2f s, %d to a block" % (a.what, rate, 1e6 * cpu, a.rounds, a.turn, a.block))
    print("%-10s %-28s %-28s" % ("over plain", "samples/s", "CPU time per sample"))
    starts = range(0, a.rounds - a.block + 1, a.block)
    for name in ("control", "pipeprobe"):

        def ratios(drawn):
            """Of some blocks: samples/s, CPU time per sample, over those of the plain job in the same blocks."""
            both = [figures([t for i in drawn for t in turns[n][i : i + a.block]]) for n in (name, "plain")]
            return [of / over for of, over in zip(*both)]

        drawn = [ratios(random.Random(k).choices(starts, k=len(starts))) for k in range(1000)]
        row = "%-10s" % name
        for value, many in zip(ratios(starts), zip(*drawn)):
            many = sorted(many)
            row += " %.4f (%.4f to %.4f)   " % (value, many[25], many[974])
        print(row)


if __name__ == "__main__":
    main()
