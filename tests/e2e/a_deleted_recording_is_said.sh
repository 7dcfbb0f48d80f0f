#!/bin/bash
# The file of a recording is deleted, replaced, moved, or goes with its directory while it is being written: one sentence, exit code 4, no file of pipeprobe's left beside
# the name, and whatever was put there untouched; a run of minutes ends at once. Of a program that records with libpipeprobe, pp_close says it; a program under exec keeps its own exit code.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe

mkdir "$T/deleted" "$T/replaced" "$T/moved" "$T/dir"
record() { timeout 60 "$PP" run --synthetic n=200,size=32x32 --workers 1 --batch-size 4 --step-ms 5 --duration 300 --quiet -o "$T/$1/run.sqlite" >"$T/$1.out" 2>"$T/$1.err"; echo $? >"$T/$1.rc"; }
for way in deleted replaced moved dir; do record $way & done
mkdir "$T/exec" "$T/client"
(timeout 60 "$PP" exec -o "$T/exec/run.sqlite" -- sh -c 'while [ ! -e '"$T"'/go ]; do sleep 0.1; done; sleep 2; exit 7' 2>"$T/exec.err"; echo $? >"$T/exec.rc") &
(timeout 60 env PIPEPROBE_COLLECTOR="$PP" "$BUILD/samples/c_loader" "$T/client/run.sqlite" 2>"$T/client.err"; echo $? >"$T/client.rc") &
committed() { [ -n "$(sqlite3 -readonly "$T/$1/run.sqlite" 'SELECT 1 FROM meta LIMIT 1' 2>/dev/null)" ]; }
for way in deleted replaced moved dir exec client; do
    for _ in $(seq 200); do committed $way && break; sleep 0.05; done
done
sleep 1.2 # more than a commit
sqlite3 "$T/other.sqlite" 'CREATE TABLE t(x); INSERT INTO t VALUES(7)'
mv "$T/other.sqlite" "$T/replaced/run.sqlite"
mv "$T/moved/run.sqlite" "$T/moved/elsewhere.sqlite"
rm -r "$T/deleted/run.sqlite" "$T/exec/run.sqlite" "$T/client/run.sqlite" "$T/dir"
touch "$T/go"
wait
for way in deleted replaced moved dir; do
    is "$way: exit code" "$(cat "$T/$way.rc")" 4
    is "$way: one sentence" "$(grep -c . "$T/$way.err")" 1
    like "$way: which says what to do" "$(cat "$T/$way.err")" "$way/run\.sqlite was deleted, moved or replaced during the recording.*Record again"
done
is "deleted: nothing is left" "$(ls -A "$T/deleted")" ""
is "moved: nothing else is left" "$(ls -A "$T/moved")" elsewhere.sqlite
is "replaced: nothing else is left" "$(ls -A "$T/replaced")" run.sqlite
is "replaced: the other file is as it was" "$(sql "$T/replaced/run.sqlite" 'SELECT x FROM t; PRAGMA integrity_check' | tr '\n' ' ')" "7 ok "
is "moved: it is whole" "$(sql "$T/moved/elsewhere.sqlite" 'PRAGMA integrity_check; SELECT sum(n) > 0 FROM chunk' | tr '\n' ' ')" "ok 1 "
is "exec: the program's exit code" "$(cat "$T/exec.rc")" 7
like "exec: says it" "$(cat "$T/exec.err")" "exec/run\.sqlite was deleted"
is "exec: nothing is left" "$(ls -A "$T/exec")" ""
is "client: ends as ever" "$(cat "$T/client.rc")" 0
like "client: is told by pp_close" "$(cat "$T/client.err")" "client/run\.sqlite was deleted"
is "client: nothing is left" "$(ls -A "$T/client")" ""
done_testing
