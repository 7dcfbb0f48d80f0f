#!/bin/bash
# exec --tune changes num_workers and prefetch_factor of a DataLoader that is being iterated. Here a job makes such changes itself, at random batches
# and by the same functions: order and contents of all batches and the random numbers behind them are those of a run without, and no process and no
# file is left. PYTHON names the interpreter, CASES and SEED (or FIRST:LAST) what is tried: `make bench-live` has all cases and 20 plans of each.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
PYTHON=${PYTHON:-/usr/bin/python3}
[ -e "$BUILD/python/attach/_pipeprobe.abi3.so" ] || skip_all "the extension is not built: no Python.h"
imports "$PYTHON" torch || skip_all "$PYTHON has no torch"
shared() { # files of the processes that the recording names: others train, and are killed, beside it
    local pid
    for pid in $(sql "$1" "SELECT DISTINCT pid FROM thread"); do find /dev/shm -name "torch_${pid}_*"; done
}
run timeout "${LIMIT:-200}" "$PP" exec --tune -o "$T/live.sqlite" -- "$PYTHON" tests/jobs/live_changes.py "${SEED:-1}" ${CASES:-map persistent-break epochs-break stream persistent-stream unordered}
cp "$OUT" "$T/said"
cp "$ERR" "$T/errors"
is "the job ends well" "$rc $(grep -c Traceback "$T/errors")" "0 0"
check "cases were compared" grep -q ok "$T/said"
while read -r case result; do is "$case: every batch, in its order" "$result" ok; done < <(grep -Ev '^(children|#)' "$T/said")
grep '^#' "$T/said"
is "no worker is left" "$(grep '^children' "$T/said")" "children left: 0"
is "and no shared memory" "$(shared "$T/live.sqlite")" ""
check "nor the session" test ! -e "$T/live.sqlite.rings"
is "each worker finds its iteration" "$(sql "$T/live.sqlite" "SELECT count(*) FROM meta WHERE section = 'process_note' AND value LIKE '%did not find its iteration%'")" 0
done_testing
