#!/bin/bash
# Ring files that another program truncates end neither the recorded program nor the recorder; the loss is said, and a SIGBUS of the program's own is its own.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
CLIENT=$PWD/$BUILD/tests/tools/nvtx_client
need_built helpers "$CLIENT"

# As a tidy-up script would: every file in the ring directory, until the command ends.
cut_rings() { # DIR
    for _ in $(seq 100); do [ -e "$1/ring-0002" ] && break; sleep 0.02; done
    sleep 1.6 # one commit, at least
    for f in "$1"/*; do : >"$f"; done
}

"$PP" exec -o "$T/e.sqlite" -- "$CLIENT" names train=700 push=20000 exit=7 >"$OUT" 2>"$ERR" </dev/null &
pid=$!
cut_rings "$T/e.sqlite.rings"
wait $pid
rc=$?
echo "exec, all ring files truncated" >"$T/command"
is "exec: the exit status is the program's" "$rc" 7
is "exec: the recording is sound" "$(sql "$T/e.sqlite" 'PRAGMA integrity_check')" ok
holds "exec: what was stored before is there" "$(sql "$T/e.sqlite" 'SELECT count(*) FROM v_span') > 100"
like "exec: the loss is said" "$(sql "$T/e.sqlite" "SELECT what || ': ' || why FROM loss")" "rings: another program truncated"
check "exec: no crash" bash -c "! grep -qiE 'sanitizer|bus error|segmentation|core dumped' '$ERR'"

for file in ring-0000 ring-0001 ring-0002 session; do
    "$PP" exec -q -o "$T/$file.sqlite" -- "$CLIENT" names train=250 exit=9 >"$OUT" 2>"$ERR" </dev/null &
    pid=$!
    for _ in $(seq 100); do [ -e "$T/$file.sqlite.rings/ring-0002" ] && break; sleep 0.02; done
    sleep 0.2
    : >"$T/$file.sqlite.rings/$file"
    wait $pid
    is "exec, $file alone: the exit status is the program's" "$?" 9
    is "exec, $file alone: the recording is sound" "$(sql "$T/$file.sqlite" 'PRAGMA integrity_check')" ok
done

"$PP" run --synthetic n=2000,size=64x64 --workers 2 --batch-size 8 --duration 3s -q -o "$T/r.sqlite" >"$OUT" 2>"$ERR" </dev/null &
pid=$!
cut_rings "$T/r.sqlite.rings"
wait $pid
rc=$?
echo "run, all ring files truncated" >"$T/command"
check "run: it goes on to its end" test "$rc" -eq 0 -o "$rc" -eq 3
is "run: the recording is sound" "$(sql "$T/r.sqlite" 'PRAGMA integrity_check')" ok
like "run: the loss is said" "$(sql "$T/r.sqlite" "SELECT what || ': ' || why FROM loss")" "rings: another program truncated"

# The index of the recording's log, which the recorder maps: one sentence, what was committed can be read, and exec's program keeps its status.
cut_index() { # FILE
    for _ in $(seq 100); do [ -n "$(sqlite3 -readonly "$1" 'SELECT 1 FROM chunk LIMIT 1' 2>/dev/null)" ] && break; sleep 0.05; done
    : >"$1-shm"
}
"$PP" exec -o "$T/x.sqlite" -- "$CLIENT" names train=700 exit=7 >"$OUT" 2>"$ERR" </dev/null &
pid=$!
cut_index "$T/x.sqlite"
wait $pid
rc=$?
echo "exec, FILE-shm truncated" >"$T/command"
is "exec, FILE-shm: the exit status is the program's" "$rc" 7
like "exec, FILE-shm: said" "$(cat "$ERR")" "truncated .*x\.sqlite-shm during the recording"
run timeout 60 "$PP" report "$T/x.sqlite"
check "exec, FILE-shm: what was committed is read" test "$rc" -eq 0 -o "$rc" -eq 3
is "exec, FILE-shm: the recording is sound" "$(sql "$T/x.sqlite" 'PRAGMA integrity_check')" ok
timeout 60 "$PP" run --synthetic n=2000,size=64x64 --workers 2 --batch-size 8 --duration 300s -q -o "$T/y.sqlite" >"$OUT" 2>"$ERR" </dev/null &
pid=$!
cut_index "$T/y.sqlite"
wait $pid
rc=$?
echo "run, FILE-shm truncated" >"$T/command"
is "run, FILE-shm: it ends at once" "$rc" 4
like "run, FILE-shm: said" "$(cat "$ERR")" "truncated .*y\.sqlite-shm during the recording"
is "run, FILE-shm: the recording is sound" "$(sql "$T/y.sqlite" 'PRAGMA integrity_check')" ok
holds "run, FILE-shm: what was committed is there" "$(sql "$T/y.sqlite" 'SELECT coalesce(sum(n), 0) FROM chunk') > 0"

# A bus error that is the program's own keeps its meaning, caught or not.
run timeout 60 "$CLIENT" push=10 kill=7
alone=$rc
run timeout 60 "$PP" exec -q -o "$T/own.sqlite" -- "$CLIENT" push=10 kill=7
is "SIGBUS that the program sends itself" "$rc" "$alone"
done_testing
