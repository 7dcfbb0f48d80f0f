#!/bin/bash
# What a PyTorch job's DataLoader was told is in the recording as soon as it is known: for whoever watches from another terminal, and when the
# collector is killed.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
PYTHON=${PYTHON:-/usr/bin/python3}
R=$T/run.sqlite
pid='' job=''
cleanup() { for p in $pid $job; do kill -9 "$p" 2>/dev/null; done; rm -rf "$T"; }
if [ ! -e "$BUILD/python/attach/_pipeprobe.abi3.so" ]; then skip "a job is known while it runs" "the extension is not built: no Python.h"; done_testing; fi
if ! imports "$PYTHON" torch; then skip "a job is known while it runs" "$PYTHON has no torch"; done_testing; fi

facts() { sql "$R" "SELECT group_concat(key || '=' || CAST(value AS INTEGER), ' ') FROM (SELECT * FROM meta WHERE section = 'config' AND key IN ('workers', 'batch_size', 'prefetch', 'dataset_samples') ORDER BY key)" 2>/dev/null; }
"$PP" exec -q -o "$R" -- "$PYTHON" -c "import os, runpy, sys
open('$T/pid', 'w').write(str(os.getpid()))
sys.argv = ['prefetched.py', '--epochs', '100000', '--sample-ms', '50']
runpy.run_path('tests/jobs/prefetched.py', run_name='__main__')" >"$T/job.out" 2>&1 &
pid=$!
for _ in $(seq 1200); do [ -n "$(facts)" ] && break; sleep 0.1; done
job=$(cat "$T/pid")
check "the job goes on" kill -0 "$job"
is "its loader's arguments are in the recording" "$(facts)" "batch_size=4 dataset_samples=48 prefetch=2 workers=2"
like "and what they are of" "$(sql "$R" "SELECT value FROM meta WHERE section = 'loader'")" "dataset=.*Slow samples=48 .*num_workers=2 batch_size=4 .*start_method=fork epochs=[1-9]"
for _ in $(seq 100); do
    run timeout 60 "$PP" top --once --view what-if "$R"
    grep -q '^num_workers  *2 ' "$OUT" && break
    sleep 0.2
done
like "top knows them" "$(cat "$OUT")" "^num_workers +2 "
run timeout 60 "$PP" report --json "$R"
is "a report of the growing file knows the workers" "$(json "$OUT" '$.config.workers')" 2

# The collector is killed, and then the job.
kill -9 $pid
wait $pid 2>/dev/null
pid=''
kill -TERM "$job"
for _ in $(seq 300); do kill -0 "$job" 2>/dev/null || break; sleep 0.1; done
job=''
for _ in $(seq 300); do pgrep -f "$T/pid" >/dev/null || break; sleep 0.1; done # its workers see that it has gone
run timeout 60 "$PP" report --json "$R"
is "after a kill of the collector: a report" "$(json "$OUT" '$.config.workers')" 2
is "after a kill of the collector: the arguments" "$(facts)" "batch_size=4 dataset_samples=48 prefetch=2 workers=2"
done_testing
