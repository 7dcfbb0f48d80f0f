#!/bin/bash
# Loops without a DataLoader whose threads wait for each other by events, conditions and semaphores: the wait is told within a few points of the job's own
# clock; a long step is not input-bound; a gate that is open is no batch. Who makes the batches is not seen.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
PYTHON=${PYTHON:-/usr/bin/python3}
imports "$PYTHON" 'torch, numpy' || skip_all "$PYTHON has no torch"
[ -e "$BUILD/python/attach/_pipeprobe.abi3.so" ] || skip_all "the extension is not built: no Python.h"
export OMP_NUM_THREADS=1 R=$T/run.sqlite
. "$(dirname "$0")/../own_loops.sh"

for form in condition event; do
    starved $form transform '^(transform|loader)$' 150 # its maker is seen by looks alone, 20 a second, of which 20 fall into its waits
    run "$PP" whatif "$R"
    is "$form: who makes its batches is not seen" "$rc $(grep -c 'nothing to replay; make the change, record again' "$ERR")" "3 1"
done
recorded event bound 15
is "event bound: a long step is not input-bound" "$(json "$T/report.json" '$.verdict.l0')" not-input-bound
recorded semaphore bound 30
holds "semaphore: its maker is idle while it waits for one" "$(sql "$R" "SELECT 1.0 * sum(dur_ns * (phase = 'dispatch_wait')) / sum(dur_ns) FROM v_span WHERE lane = 'worker'") > 0.7"
for form in inline gate; do
    starved $form transform '^(transform|loader)$'
    is "$form: each batch is a wait" "$(sql "$R" "SELECT count(DISTINCT batch) >= 43 FROM v_span WHERE phase = 'data_wait'")" 1
done
done_testing
