"""planted.py PIPEPROBE JOBS SECONDS: how well the stacks of planted jobs (planted_job.py) name the dearest member, and how far the shares are off: medians and
the 90th percentile over members of 2 % and more, beside what chance alone gives for as many samples."""

import os
import sqlite3
import subprocess
import sys
import tempfile

SHARES = """WITH RECURSIVE up(leaf, parent, op) AS (SELECT s.rowid, k.parent, k.op FROM stack_sample s JOIN thread t ON t.id = s.thread AND t.lane = 'worker'
 JOIN stack k ON k.id = s.stack UNION ALL SELECT leaf, k.parent, k.op FROM up JOIN stack k ON k.id = up.parent)
 SELECT substr(o.arguments, 8, 1), count(DISTINCT leaf) FROM up JOIN stack_op o ON o.id = up.op WHERE o.class = 'Op' AND o.path LIKE 'dataset.transform.%'
 AND o.arguments NOT LIKE 'number=0, seconds=0.003' GROUP BY 1"""


def run(pipeprobe, seed, seconds):
    with tempfile.TemporaryDirectory() as d:
        out = os.path.join(d, "r.sqlite")
        method = ("fork", "spawn", "forkserver")[seed % 3]
        words = [pipeprobe, "exec", "-q", "-o", out, "--", "/usr/bin/python3", "tests/bench/lines/planted_job.py", str(seed), seconds, method]
        text = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout
        truth = [float(w) for w in text.split("truth ")[1].split()]
        db = sqlite3.connect(out)
        seen = {int(k): n for k, n in db.execute(SHARES)}
        facts = dict(db.execute("SELECT key, value FROM meta WHERE section = 'stacks'"))
    n = max(sum(seen.values()), 1)
    return method, truth, [seen.get(k, 0) / n for k in range(len(truth))], n, facts


def main(pipeprobe, jobs, seconds):
    errors, chance, right, samples, lost = [], [], 0, 0, 0
    for seed in range(int(jobs)):
        method, truth, seen, n, facts = run(pipeprobe, seed, seconds)
        first = seen.index(max(seen)) == truth.index(max(truth))
        right += first
        samples, lost = samples + facts["samples"], lost + facts["lost"]
        for t, s in zip(truth, seen):
            if t >= 0.02:
                errors.append(abs(s - t) * 100)
                chance.append(67.4 * (t * (1 - t) / n) ** 0.5)
        print("job %d, %s: %d samples, dearest %s, truly %.3f, seen %.3f" % (seed, method, n, "named" if first else "NOT NAMED", max(truth), seen[truth.index(max(truth))]), flush=True)
    errors.sort(), chance.sort()
    print("dearest member named in %d of %s jobs" % (right, jobs))
    print("shares: median %.1f, p90 %.1f points off; by chance alone median %.1f" % (errors[len(errors) // 2], errors[len(errors) * 9 // 10], chance[len(chance) // 2]))
    print("lost: %d of %d" % (lost, samples))
    return right * 100 < 95 * int(jobs)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
