#!/bin/bash
# The usable CPUs of a job are those that its own processes may use, not those of exec, and a change in mid-run is kept. PYTHON names the interpreter.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
PYTHON=${PYTHON:-/usr/bin/python3}
JOB=$PWD/tests/jobs/sleeps.py
[ "$(nproc)" -ge 2 ] || skip_all "one CPU"
[ -e "$BUILD/python/attach/_pipeprobe.abi3.so" ] || skip_all "the extension for Python is not built"
imports "$PYTHON" torch || skip_all "no PyTorch for $PYTHON"
fact() { sql "$T/$1.sqlite" "SELECT value FROM meta WHERE section = 'environment' AND key = '$2'"; }

run timeout 100 "$PP" exec -o "$T/one.sqlite" -- taskset -c 0 "$PYTHON" "$JOB" --epochs 1 --samples 800
is "one of several CPUs: exit status" "$rc" 0
is "one of several CPUs" "$(fact one usable_cpus | sed 's/[.]0$//'), $(fact one cpus_affinity | sed 's/[.]0$//'), $(fact one usable_cpus_changes)" "1, 1, "
run "$PP" whatif "$T/one.sqlite" --json
is "what-if has as many" "$(json "$OUT" '$.usable_cpus')" 1
run timeout 100 "$PP" exec -o "$T/changed.sqlite" -- "$PYTHON" -c "
import os, runpy, sys, threading
import torch
threading.Timer(5, lambda: [os.sched_setaffinity(int(t), [0]) for p in [os.getpid()] + [int(c) for c in open('/proc/self/task/%d/children' % os.getpid()).read().split()] for t in os.listdir('/proc/%d/task' % p)]).start()
sys.argv = ['sleeps.py', '--epochs', '1', '--samples', '2400']
runpy.run_path('$JOB', run_name='__main__')"
like "a change in mid-run" "$(fact changed usable_cpus_changes)" "^[0-9]+ -> 1 after [0-9]+ s"

# Fewer CPUs than the job was started with, or workers with fewer than the job, are the cause where they wait for those.
cat >"$T/binds.py" <<'EOT'
import os, sys, time
import torch
from torch.utils.data import DataLoader, Dataset

class Sums(Dataset):
    def __len__(self):
        return 2400

    def __getitem__(self, i):
        return torch.tensor([sum(k * k for k in range(60000)) + i])

def bind(worker=0):
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

if __name__ == "__main__":
    if sys.argv[1] == "job":
        bind()
    for batch in DataLoader(Sums(), batch_size=16, num_workers=2, worker_init_fn=bind if sys.argv[1] == "workers" else None):
        time.sleep(0.002)
EOT
for who in job workers; do
    run timeout 200 "$PP" exec -q --duration 5 -o "$T/$who.sqlite" -- "$PYTHON" "$T/binds.py" $who
    run "$PP" report "$T/$who.sqlite"
    said=$(tr -s ' \n' ' ' <"$OUT")
    like "bound: the $who" "$said" "CPU affinity is too narrow. [Tt]he $who may use only 1 of $(nproc) CPUs, .*\(affinity\)"
    like "and what to do" "$said" "Let the $who use all $(nproc) CPUs"
done

# Who else uses them: named by program and user, only while somebody does, and never the job's own processes.
printf 'import time\nend = time.monotonic() + 40\nwhile time.monotonic() < end: pass\n' >"$T/neighbour.py"
"$PYTHON" "$T/neighbour.py" &
other=$!
run timeout 100 "$PP" exec -o "$T/beside.sqlite" -- "$PYTHON" "$JOB" --epochs 1 --samples 1200
kill "$other"
others=$(sql "$T/beside.sqlite" "SELECT value FROM meta WHERE section = 'environment' AND key LIKE 'other_process_%'")
like "neighbours are named by program and user" "$others" "^[^ ].* \([^)]+\), [0-9.]+ % of the CPUs"
[ "$(wc -l <<<"$others")" -ge 5 ] || like "this one among them" "$others" "python3[0-9.]* neighbour.py \("
check "the job is no neighbour of its own" bash -c "! grep -q sleeps.py <<<'$others'"
run "$PP" report "$T/beside.sqlite" --json
like "the report has them" "$(json "$OUT" '$.environment.other_process_1')" " % of the CPUs"
run "$PP" report "$T/beside.sqlite" --full
check "the full report, too" grep -q '^Beside it .* % of the CPUs' "$OUT"
refuses "a page is no recording" 125 "page.html is no name of a recording: record with -o run.sqlite" "$PP" exec -o "$T/page.html" -- true
done_testing
