#!/bin/bash
# A job that leaves each epoch after some batches throws away what its workers had prefetched: that is no contradiction in the recording.
# idle
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
PYTHON=${PYTHON:-/usr/bin/python3}
if [ ! -e "$PWD/$BUILD/python/attach/_pipeprobe.abi3.so" ]; then skip "epochs that are left early are judged" "the extension is not built: no Python.h"; done_testing; fi
if ! imports "$PYTHON" torch; then skip "epochs that are left early are judged" "$PYTHON has no torch"; done_testing; fi
for workers in "" --persistent; do
    run timeout 120 "$PP" exec -q --force -o "$T/left.sqlite" -- "$PYTHON" tests/jobs/sleeps.py --workers 2 --sample-ms 10 --step-ms 5 --epochs 12 --samples 4000 --leave-after 20 $workers
    is "exit status $workers" "$rc" 0
    run "$PP" report --json "$T/left.sqlite"
    is "the batches that the trainer got $workers" "$(json "$OUT" '$.batches')" 240
    holds "the workers made more $workers" "$(sql "$T/left.sqlite" "SELECT count(DISTINCT batch) FROM v_span WHERE lane = 'worker' AND phase = 'collate'") > 250"
    is "no law is broken $workers" "$(json "$OUT" '$.verdict.sentence' | grep -c "law is violated")" 0
    is "it is input-bound $workers" "$(json "$OUT" '$.verdict.l0')" "input-bound"
done
done_testing
