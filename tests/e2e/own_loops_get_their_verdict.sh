#!/bin/bash
# Loops without a DataLoader: batches from queues, pools, processes, lists and event loops. The job's output is the same, its wait is told within a few points
# of its own clock, and the cause is storage or work; a long step is not input-bound.
. "$(dirname "$0")/../lib.sh"
. tests/slow_fs.sh
need_pipeprobe
PYTHON=${PYTHON:-/usr/bin/python3}
imports "$PYTHON" 'torch, numpy' || skip_all "$PYTHON has no torch"
[ -e "$BUILD/python/attach/_pipeprobe.abi3.so" ] || skip_all "the extension is not built: no Python.h"
export OMP_NUM_THREADS=1 R=$T/run.sqlite
. "$(dirname "$0")/../own_loops.sh"

# The same without: the losses are equal.
run timeout 60 "$PYTHON" tests/jobs/own_loops.py "$T/files" pool bound 5
cp "$OUT" "$T/plain.out"
recorded pool bound 5
is "the output without and with pipeprobe" "$(cat "$OUT")" "$(cat "$T/plain.out")"

for form in thread completed threadpool asyncqueue; do
    starved $form transform '^(transform|loader)$'
    run "$PP" whatif "$R"
    like "$form: predicted, or refused with the reason" "$rc $(cat "$ERR")" '^0 $|^3 .*(off by|nothing to replay)'
    [ "$rc" != 0 ] || is "$form: no rate of 0 is predicted" "$(grep -c ' 0 [a-z]*/s' "$OUT")" 0
done
INFER=1 starved mpqueue transform "^(transform|loader)$" # no backward pass says which thread takes batches
# Threads that hold the interpreter's lock, and such as do not: who computes without it, and who sleeps.
locked() { # FORM MODE lock|none: where others computed, the looks say all the same who waits for it
    local waits
    recorded "$1" "$2" 45
    waits=$(sql "$R" "SELECT max(l) > 0.2 FROM (SELECT avg(substr(k.states, n.id, 1) = 'g') AS l FROM native_thread n, thread_look k WHERE n.tid IN (SELECT tid FROM thread WHERE lane = 'worker') GROUP BY n.id)")
    cp "$T/report.json" "$OUT"
    judged is "$1 $2: whether its threads wait for the interpreter's lock" "$waits" "$([ "$3" = lock ] && echo 1 || echo 0)"
    [ "$3" = lock ] || { judged is "$1 $2: the lock is no cause" "$(json "$OUT" '$.verdict.l2' | grep -c '^lock$')" 0; return; }
    "$PP" whatif "$R" --set workers=4 --json >"$T/whatif.json" 2>"$T/whatif.err"
    if [ "$(sqlite3 :memory: "SELECT json_extract(w, '$.competing_threads') + json_extract(w, '$.competing_groups') < 0.3 FROM (SELECT CAST(readfile('$T/whatif.json') AS TEXT) AS w)" 2>&1)" != 1 ]; then
        skip "$1 $2: the cause" "other processes used the CPUs, which the lock would free"
        return
    fi
    judged is "$1 $2: the cause" "$(json "$OUT" '$.verdict.l2')" lock
    judged like "$1 $2: processes are what helps" "$(json "$OUT" '$.verdict.next_step')" 'processes instead of threads'
    judged holds "$1 $2: more threads gain nothing" "$(json "$T/whatif.json" '$.predictions[0].gain') < 0.1"
}
for form in pool threadpool completed; do locked $form transform lock; done
locked pool released none
locked threadpool released none
locked pool sleeps none

# joblib gives the last results when its pool has ended, from another place. Where there is none, one of that form stands for it.
"$PYTHON" -c 'from joblib import Parallel; Parallel._get_outputs, Parallel._get_sequential_output' 2>"$T/no_joblib" || export PYTHONPATH=$PWD/tests/fake${PYTHONPATH:+:$PYTHONPATH}
run timeout 60 "$PP" exec -q --force -o "$R" -- "$PYTHON" tests/jobs/own_loops.py "$T/files" joblib transform 120 0.8
is "joblib: exit status and output" "$rc $(sed 's/ .*//' "$OUT")" "0 120"
is "joblib: every hook fits" "$(sql "$R" "SELECT value FROM meta WHERE section = 'process_note'")" ""
holds "joblib: each batch is a wait" "$(sql "$R" "SELECT count(DISTINCT batch) FROM v_span WHERE phase = 'data_wait'") >= 118"
for form in thread inline asyncqueue; do
    recorded $form bound 15
    is "$form bound: a long step is not input-bound" "$(json "$T/report.json" '$.verdict.l0')" not-input-bound
done
why=$(why_no_fuse)
if [ -n "$why" ]; then skip "slow storage" "$why"; done_testing; fi
slow_mount "$T/files" open_ms=4,read_ms=2
for form in pool inline imap mpqueue processes threadpool; do starved $form storage '^storage$'; done
slow_unmount
done_testing
