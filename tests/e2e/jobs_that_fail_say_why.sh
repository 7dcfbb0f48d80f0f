#!/bin/bash
# Jobs that fail, hang or are interrupted: the report says why, which worker, and the remedy; what recorded nothing leaves no file. PYTHON names the
# interpreter.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
PYTHON=${PYTHON:-/usr/bin/python3}
JOB=$PWD/tests/jobs/failing.py
[ -e "$BUILD/python/attach/_pipeprobe.abi3.so" ] || skip_all "the extension for Python is not built"
imports "$PYTHON" torch || skip_all "no PyTorch for $PYTHON"
cd "$T" || exit 1

ends() { # KIND STATUS OUTCOME WHY REMEDY
    run timeout 60 "$PP" exec -f -o "$1.sqlite" -- "$PYTHON" "$JOB" "$1"
    is "$1: the exit status is the job's" "$rc" "$2"
    cp "$ERR" said
    run "$PP" report "$1.sqlite" --json
    is "$1: outcome" "$(json "$OUT" '$.outcome'), $(json "$OUT" '$.exit_status')" "$3, $2"
    like "$1: why" "$(json "$OUT" '$.ended')" "$4"
    like "$1: remedy" "$(json "$OUT" '$.ended_remedy')" "$5"
    check "$1: nobody is told to run longer, or about ranges" bash -c "! tr '\n' ' ' <said | grep -qiE 'run +longer|annotate|measure PyTorch'"
    like "$1: exec says it" "$(tr '\n' ' ' <said | tr -s ' ')" "FAILED after [0-9]+ batches, in .*: $4"
}
nothing() { # KIND STATUS WHY
    run timeout 60 "$PP" exec -f -o "$1.sqlite" -- "$PYTHON" "$JOB" "$1"
    is "$1: the exit status is the job's" "$rc" "$2"
    is "$1: no file" "$(ls "$1"* 2>/dev/null)" ""
    like "$1: one sentence" "$(grep '^pipeprobe' "$ERR")" "^pipeprobe exec: the job failing.py ended with exit status $2 before it took a batch, so nothing was recorded: $3"
    is "$1: and no other" "$(grep '^pipeprobe' "$ERR" | grep -vc ' recording into ')" 1
}
nothing import 1 "it raised ModuleNotFoundError: No module named 'no_such_module'"
nothing early 1 "it raised ValueError: no such model: resnet5"
nothing usage 2 "its own messages say why"
ends step 1 failed "it raised KeyError: 'label'" ""
ends worker 1 failed "worker 0 raised OSError: truncated file img_120.jpg" "num_workers=0"
ends shm 1 failed "no room in shared memory \(/dev/shm is full\)" "--shm-size"
ends exits 1 failed "worker 0 ended with exit status 1" "num_workers=0"
ends killed 1 failed "worker 0 ended by signal 9" "dmesg"
ends status 3 failed "its own messages say why" ""
ends bad 139 failed "SIGSEGV ended it" "faulthandler"

# Hanging, interrupted as a terminal does it.
interrupted() { # KIND SECONDS: of them after both its workers have begun
    "$PYTHON" -c 'import signal, os, sys; os.setpgrp(); signal.signal(signal.SIGINT, signal.default_int_handler); os.execv(sys.argv[1], sys.argv[1:])' \
        "$PP" exec -f -o "$1.sqlite" -- "$PYTHON" "$JOB" "$1" >"$OUT" 2>"$ERR" &
    local exec=$!
    for _ in $(seq 200); do
        [ "$(sqlite3 "$1.sqlite" "SELECT count(*) FROM thread WHERE lane = 'worker'" 2>/dev/null || echo 0)" -ge 2 ] && break
        sleep 0.2
    done
    sleep "$2"
    kill -INT -- "-$exec"
    wait "$exec"
    run "$PP" report "$1.sqlite" --json
    is "$1: outcome" "$(json "$OUT" '$.outcome')" interrupted
}
interrupted lock 9
like "lock: the workers are named" "$(json "$OUT" '$.ended')" "no batch came for the last [0-9.]+ s: worker [01] in its first sample for [0-9.]+ s, worker [01] in its first sample for [0-9.]+ s"
like "lock: the remedy" "$(json "$OUT" '$.ended_remedy')" "lock .* forked"
interrupted slow 6
is "slow: why" "$(json "$OUT" '$.ended')" "it was interrupted (Ctrl-C)"
check "slow: the verdict stands" test "$(json "$OUT" '$.verdict.l0')" != inconclusive

# Ended as asked for: no failure.
run timeout 60 "$PP" exec -d 2s -o timed.sqlite -- "$PYTHON" "$JOB" slow
is "--duration: exit status" "$rc" 0
run "$PP" report timed.sqlite --json
is "--duration: outcome" "$(json "$OUT" '$.outcome'), $(json "$OUT" '$.ended')" "finished, "
holds "--duration: it had its steady state" "$(json "$OUT" '$.batches') >= 100"

# A kill for want of memory is counted by the control group, of which a test has none: the row is written.
sqlite3 step.sqlite "INSERT INTO meta (section, key, value) VALUES ('result', 'oom_kills', 1)"
run "$PP" report step.sqlite --json
like "a kill for want of memory" "$(json "$OUT" '$.ended')" "killed a process because the control group's memory was full"
done_testing
