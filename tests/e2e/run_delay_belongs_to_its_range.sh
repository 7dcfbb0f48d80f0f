#!/bin/bash
# Ranges of a program whose CPU is contended: reading the CPU clock at the end of a range may cost the thread its CPU, and what it then waits is no part
# of the range. Counted as one, CPU time and run delay exceed the time of the ranges by a fifth and more, and no verdict is given.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
CLIENT=$PWD/$BUILD/tests/tools/nvtx_client
[ -x "$CLIENT" ] || { echo "not ok 1 - $CLIENT is built"; exit 1; }
cpu=$(taskset -cp $$ 2>/dev/null | sed 's/.*: *//; s/[,-].*//')
if [ -z "$cpu" ] || ! taskset -c "$cpu" true; then skip "run delay of ranges" "taskset is not installed"; done_testing; fi

busy=()
trap '[ $BASHPID -ne $$ ] || { kill "${busy[@]}" 2>/dev/null; cleanup; }' EXIT
for _ in 1 2; do
    taskset -c "$cpu" yes >/dev/null &
    busy+=($!)
done
run timeout 120 taskset -c "$cpu" "$PP" exec -q --map pytorch -o "$T/run.sqlite" -- "$CLIENT" burn=60
is "exit status" "$rc" 0
is "each range has CPU time and run delay" "$(sql "$T/run.sqlite" "SELECT count(*) FROM v_span WHERE phase = 'decode' AND cpu_ns > 0 AND run_delay_ns IS NOT NULL")" 60
sql "$T/run.sqlite" "SELECT sum(cpu_ns + run_delay_ns) * 1.0 / sum(dur_ns), sum(run_delay_ns) * 1.0 / sum(dur_ns) FROM v_span WHERE phase = 'decode'" >"$T/shares"
echo "# of the ranges' time CPU time and run delay, and run delay: $(cat "$T/shares")"
holds "the ranges waited for a CPU" "$(cut -d'|' -f2 "$T/shares") > 0.1"
holds "and waited no longer than they lasted" "$(cut -d'|' -f1 "$T/shares") < 1.1"

# Samples of a few microseconds are one span, put once their batch is collated: they take none of what collating waited for a CPU.
PYTHON=${PYTHON:-/usr/bin/python3}
if [ ! -e "$BUILD/python/attach/_pipeprobe.abi3.so" ] || ! imports "$PYTHON" torch; then
    skip "run delay of collate" "no extension, or $PYTHON has no torch"
    done_testing
fi
cat >"$T/job.py" <<'EOF'
import time
from torch.utils.data import DataLoader
def collate(samples):
    until = time.thread_time() + 0.02
    while time.thread_time() < until: pass
    return samples
for batch in DataLoader(range(60000), batch_size=2000, collate_fn=collate): pass
EOF
run timeout 120 taskset -c "$cpu" "$PP" exec -q -f -o "$T/job.sqlite" -- "$PYTHON" "$T/job.py"
is "the job" "$rc" 0
waited=$(sql "$T/job.sqlite" "SELECT sum(run_delay_ns) * 1.0 / sum(dur_ns - cpu_ns) FROM v_span WHERE phase = 'collate'")
echo "# of the time that collating was not on a CPU, it waited for one: $waited"
holds "collating waited for a CPU, and was not blocked" "${waited:-0} > 0.8"
kill "${busy[@]}"
done_testing
