#!/bin/bash
# A job whose batches are many small tensors: the training thread maps each of them, and neither workers nor a prefetch help. The same data as one
# tensor: the wait is gone.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
PYTHON=${PYTHON:-/usr/bin/python3}
if [ ! -e "$PWD/$BUILD/python/attach/_pipeprobe.abi3.so" ]; then skip "many tensors are named" "the extension is not built: no Python.h"; done_testing; fi
if ! "$PYTHON" -c 'import torch' 2>/dev/null; then skip "many tensors are named" "$PYTHON has no torch"; done_testing; fi
job() { # TENSORS
    run timeout 120 "$PP" exec -q --force -o "$T/$1.sqlite" -- "$PYTHON" tests/jobs/sleeps.py --workers 2 --sample-ms 1 --step-ms 10 --samples 600 --epochs 1 --tensors "$1"
    is "$1 tensors: exit status" "$rc" 0
}
wait_ms() { sql "$T/$1.sqlite" "SELECT sum(dur_ns) / 1e6 FROM v_span WHERE phase = 'data_wait'"; }
job 80
job 1
run "$PP" report --json "$T/80.sqlite"
is "its class and cause" "$(json "$OUT" '$.verdict.l1') $(json "$OUT" '$.verdict.l2')" "loader unpickle"
run "$PP" report "$T/80.sqlite"
like "what to do" "$(cat "$OUT")" "Send fewer tensors per batch"
is "unpickling is most of its wait" "$(sql "$T/80.sqlite" "SELECT (SELECT sum(value) FROM counter WHERE name = 'unpickle_ns') > 0.5 * (SELECT sum(dur_ns) FROM v_span WHERE phase = 'data_wait')")" 1
holds "one tensor waits less than a third of that" "$(wait_ms 1) < $(wait_ms 80) / 3"
# No prediction promises what no worker can do: the trainer's own part stays.
run "$PP" whatif "$T/80.sqlite" --set workers=16 --json
holds "16 workers are not said to help" "$(json "$OUT" '$.predictions[0].gain') < 0.5"
done_testing
