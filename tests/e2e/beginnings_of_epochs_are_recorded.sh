#!/bin/bash
# What iter(loader) does before the first batch of an epoch is in the trainer's lane: the sampler's draw and the start of workers, with what each is started from.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
PYTHON=${PYTHON:-/usr/bin/python3}
case $BUILD in *address*|*thread*) skip_all "a sanitizer's library cannot be loaded into Python" ;; esac
imports "$PYTHON" torch || skip_all "$PYTHON has no torch"

cat >"$T/job.py" <<'EOT'
import sys, time
import torch
from torch.utils.data import DataLoader, Dataset, Sampler

class Records(Dataset):
    def __init__(self, pad):
        self.pad = [str(i) for i in range(pad)]
    def __len__(self):
        return 240
    def __getitem__(self, i):
        return torch.full((8,), float(i))

class Slow(Sampler):
    """draws the whole order before the first sample: eagerly, or with the first next()"""
    def __init__(self, how): self.how = how
    def __len__(self): return 240
    def __iter__(self):
        if self.how == "eager": time.sleep(0.3)
        return iter(range(240)) if self.how == "eager" else self.lazy()
    def lazy(self):
        time.sleep(0.3)
        yield from range(240)

def main(how, workers, method):
    sampler = Slow(how) if how in ("eager", "lazy") else None
    loader = DataLoader(Records(300000 if method == "spawn" else 10), batch_size=8, sampler=sampler, num_workers=workers,
                        multiprocessing_context=method if workers else None, persistent_workers=how == "kept")
    for epoch in range(3):
        for x in loader:
            time.sleep(0.015)

if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
EOT

record() { # NAME ARGUMENT...
    A=$T/$1.sqlite
    shift
    run timeout 120 "$PP" exec -q -o "$A" -- "$PYTHON" "$T/job.py" "$@"
    is "$*: the job runs" "$rc" 0
    run timeout 60 "$PP" report --json "$A"
}
total() { sql "$A" "SELECT coalesce(sum(dur_ns), 0) / 1e9 FROM v_span WHERE phase = '$1' AND thread = 'trainer'"; }
count() { sql "$A" "SELECT count(*) FROM v_span WHERE phase = '$1' AND thread = 'trainer'"; }
finding() { sqlite3 :memory: "SELECT json_extract(value, '$.$2') FROM json_each(CAST(readfile('$OUT') AS TEXT), '$.findings') WHERE json_extract(value, '$.kind') = '$1'"; }

for how in eager lazy; do
    record $how $how 1 fork
    holds "$how: three draws of 0.3 s" "$(total sampler) >= 0.88 && $(total sampler) < 1.3"
    is "$how: each epoch starts its worker" "$(count startup)" 3
    is "$how: the finding" "$(finding sampler-draw state)" found
    like "$how: it names the sampler" "$(finding sampler-draw sentence)" "^Slow draws in the training thread for [0-9.]+ % of the time, [0-9.]+ m?s before the first batch of an epoch$"
    whole=$(sql "$A" "SELECT (max(start_ns + dur_ns) - min(start_ns)) / 1e9 FROM v_span WHERE thread = 'trainer'")
    lane=$(sql "$A" "SELECT sum(dur_ns) / 1e9 FROM v_span WHERE thread = 'trainer' AND phase <> 'counter'")
    holds "$how: the trainer's lane adds up" "$lane > 0.97 * $whole && $lane < 1.01 * $whole"
done
run timeout 60 "$PP" whatif --set sampler=none "$A"
is "lazy: a cheaper sampler can be replayed" "$rc" 0

record here lazy 0 none
holds "without workers the first wait has the draw" "$(total sampler) < 0.1"
holds "and it is counted" "$(sql "$A" "SELECT coalesce(sum(value), 0) / 1e9 FROM counter WHERE name = 'sampler_ns'") >= 0.88"
is "and found" "$(finding sampler-draw state)" found

record kept kept 1 fork
is "workers that stay start once" "$(count startup)" 1
is "a cheap sampler is none to change" "$(finding sampler-draw state)" not-found
is "a forked worker is not pickled" "$(finding worker-pickle state)" ""

record spawned none 1 spawn
holds "what a worker is spawned from" "$(sql "$A" "SELECT value FROM meta WHERE section = 'config' AND key = 'worker_pickle_bytes'") >= 2000000"
is "spawn: found" "$(finding worker-pickle state)" found
like "spawn: it says what is pickled" "$(finding worker-pickle sentence)" "by spawn, with [0-9.]+ MiB of pickled __main__.Records: starting 1 worker takes"
holds "the first start is none of the imports" "$(finding first-batch numbers.workers_s) > 0.5"
done_testing
