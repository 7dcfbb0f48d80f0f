#!/bin/bash
# What a job starts beside its DataLoader (a pool, a compiler, a program per shard) takes CPUs from its workers: that is the job's own load, and no other job's.
# alone
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
PYTHON=${PYTHON:-/usr/bin/python3}
[ -e "$BUILD/python/attach/_pipeprobe.abi3.so" ] || skip_all "the extension is not built: no Python.h"
imports "$PYTHON" torch || skip_all "$PYTHON has no torch"

cat >"$T/job.py" <<'EOF'
import os, subprocess, sys, time
from torch.utils.data import DataLoader, Dataset
class Work(Dataset):
    def __len__(self): return 100000
    def __getitem__(self, i):
        until = time.thread_time() + 0.002
        while time.thread_time() < until: pass
        return i
BUSY = [sys.executable, "-S", "-c", "while True: pass"]
own = sys.argv[1] == "own"
programs = [subprocess.Popen(BUSY) for _ in range(2 if own else 0)]
end = time.time() + 6
for batch in DataLoader(Work(), batch_size=16, num_workers=2):
    time.sleep(0.005)
    if time.time() > end: break
for p in programs: p.kill(); p.wait()
EOF
record() { run timeout 120 taskset -c 0,1 "$PP" exec -q -f -o "$T/$1.sqlite" -- "$PYTHON" "$T/job.py" "$1"; }
used() { sql "$T/$1.sqlite" "SELECT coalesce((max(value) - min(value)) / 1e9, -1) FROM counter WHERE name = '$2_cpu_ns_total'"; }
loads() { run timeout 60 "$PP" whatif "$T/$1.sqlite"; sed -n 1p "$OUT"; }

record own
is "the job" "$rc" 0
holds "its subprocesses have a counter of their own" "$(used own subprocess) > 1.5"
holds "what they used is not that of the workers, also when they have ended" "$(used own process) < 12 && $(used own process) > 1.5"
like "the load is the job's" "$(loads own)" 'subprocesses of the job (take|compete)|of subprocesses of the job'

taskset -c 0,1 "$PYTHON" -S -c 'while True: pass' & a=$!
taskset -c 0,1 "$PYTHON" -S -c 'while True: pass' & b=$!
record none
kill $a $b; wait $a $b 2>/dev/null
is "a job beside other programs" "$rc" 0
holds "has no subprocesses" "$(used none subprocess) >= 0 && $(used none subprocess) < 0.5"
like "the load is that of other processes" "$(loads none)" 'other processes (take|compete)|of other processes'
done_testing
