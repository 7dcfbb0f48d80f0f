#!/usr/bin/env python3
"""tests/field/reliability.py RESULTS.json...: how often what was said with a confidence was right, from results of run.py (--results).

Right is the full cause. A row of the table in report/verdict/confidence.c has (right + 1/2) / (all + 1), the lower one of this and the lab's. Exit code 1: of what
was said with 90 % or more, less than 90 % was right."""
import collections
import json
import sys

rows, wrong = collections.defaultdict(lambda: [0, 0]), []
for path in sys.argv[1:]:
    page = json.load(open(path))
    for r in page["results"]:
        if r.get("confidence") is None:
            continue
        row = rows[round(r["confidence"], 3)]
        row[0] += r["cause"] == "full"
        row[1] += 1
        if r["cause"] != "full":
            wrong.append(f"{r['confidence']:.3f} {r['job']}{' (busy)' if page['busy'] else ''}: {r['codes']}")
for said in sorted(rows, reverse=True):
    right, n = rows[said]
    print(f"said {100 * said:5.1f} %: {right} of {n} right, {100 * (right + 0.5) / (n + 1):.1f} % for the table")
sure = [sum(rows[s][k] for s in rows if s >= 0.9) for k in (0, 1)]
print("wrong:", *wrong, sep="\n  ")
sys.exit(0 if sure[0] >= 0.9 * sure[1] else 1)
