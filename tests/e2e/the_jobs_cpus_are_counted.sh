#!/bin/bash
# The usable CPUs of a job are those that its own processes may use, not those of exec, and a change in mid-run is kept. PYTHON names the interpreter.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
PYTHON=${PYTHON:-/usr/bin/python3}
JOB=$PWD/tests/jobs/sleeps.py
[ "$(nproc)" -ge 2 ] || skip_all "one CPU"
[ -e "$BUILD/python/attach/_pipeprobe.abi3.so" ] || skip_all "the extension for Python is not built"
"$PYTHON" -c 'import torch' 2>/dev/null || skip_all "no PyTorch for $PYTHON"
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
done_testing
