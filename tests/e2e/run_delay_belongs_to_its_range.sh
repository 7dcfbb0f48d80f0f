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
kill "${busy[@]}"
is "exit status" "$rc" 0
is "each range has CPU time and run delay" "$(sql "$T/run.sqlite" "SELECT count(*) FROM v_span WHERE phase = 'decode' AND cpu_ns > 0 AND run_delay_ns IS NOT NULL")" 60
sql "$T/run.sqlite" "SELECT sum(cpu_ns + run_delay_ns) * 1.0 / sum(dur_ns), sum(run_delay_ns) * 1.0 / sum(dur_ns) FROM v_span WHERE phase = 'decode'" >"$T/shares"
echo "# of the ranges' time CPU time and run delay, and run delay: $(cat "$T/shares")"
holds "the ranges waited for a CPU" "$(cut -d'|' -f2 "$T/shares") > 0.1"
holds "and waited no longer than they lasted" "$(cut -d'|' -f1 "$T/shares") < 1.1"
done_testing
