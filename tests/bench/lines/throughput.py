"""throughput.py PIPEPROBE PAIRS SECONDS [HZ]: what reading stacks costs a job. tests/jobs/lines.py is recorded with and without it in turn (on, off, off, on),
its rate taken from the recording; prints the ratio with its standard error and, of the runs with it, CPU a sample and the part of the machine."""

import math
import os
import sqlite3
import subprocess
import sys
import tempfile


def run(pipeprobe, seconds, lines):
    with tempfile.TemporaryDirectory() as d:
        out = os.path.join(d, "r.sqlite")
        subprocess.run([pipeprobe, "exec", "-q", "-o", out, *lines, "--", "/usr/bin/python3", "tests/jobs/lines.py", seconds], check=True, stdout=subprocess.DEVNULL)
        db = sqlite3.connect(out)
        # Without its first second, in which workers start.
        ((n, begin, end),) = db.execute(
            "SELECT count(*), min(start_ns + dur_ns), max(start_ns + dur_ns) FROM v_span WHERE phase = 'data_wait' AND start_ns > (SELECT min(start_ns) FROM v_span"
            " WHERE phase = 'data_wait') + 1000000000"
        )
        facts = dict(db.execute("SELECT key, value FROM meta WHERE section = 'stacks'"))
        ((stored,),) = db.execute("SELECT count(*) FROM stack_sample")
        return (n - 1) / ((end - begin) / 1e9), facts, stored


def main(pipeprobe, pairs, seconds, hz="10"):
    ratios, cpu, samples, rates = [], 0, 0, []
    for i in range(int(pairs)):
        order = (1, 0) if i % 2 == 0 else (0, 1)
        rate = {}
        for on in order:
            rate[on], facts, stored = run(pipeprobe, seconds, ["--lines", hz] if on else ["--no-lines"])
            if on:
                cpu, samples = cpu + facts["cpu_ns"], samples + facts["samples"]
                rates.append(facts["rate_hz"])
        ratios.append(rate[1] / rate[0])
        print("pair %d: %.1f on, %.1f off, ratio %.4f" % (i + 1, rate[1], rate[0], ratios[-1]), flush=True)
    mean = sum(ratios) / len(ratios)
    error = math.sqrt(sum((r - mean) ** 2 for r in ratios) / max(len(ratios) - 1, 1) / len(ratios))
    print("throughput with stacks read: %.4f +- %.4f of that without (%d pairs)" % (mean, error, len(ratios)))
    print(
        "%.1f us of CPU a sample; %.3f %% of %d CPUs, openings included; last rates %s Hz"
        % (cpu / 1e3 / samples, cpu / 1e9 / (float(seconds) * len(ratios)) / os.cpu_count() * 100, os.cpu_count(), " ".join("%.1f" % r for r in rates))
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
