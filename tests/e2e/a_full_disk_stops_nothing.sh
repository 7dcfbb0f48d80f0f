#!/bin/bash
# Disks on which not everything has room: no byte for a ring, none for the log, none left in mid-run, no inode. The recorded program goes on, is told in a
# sentence, keeps its own exit code, and what was stored is sound. A store into a hole of a full disk would be a SIGBUS.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
CLIENT=$BUILD/tests/tools/nvtx_client
[ -x "$CLIENT" ] || skip_all "nvtx_client is not built (make helpers)"
S=$T/small
mkdir "$S"
{ [ "$(id -u)" -eq 0 ] && mount -t tmpfs -o size=1m tmpfs "$S" 2>/dev/null; } || skip_all "needs root to mount a small tmpfs"
cleanup() { umount "$S" 2>/dev/null; rm -rf "$T"; }
anew() { umount "$S" && mount -t tmpfs -o "$1" tmpfs "$S"; }
client() { run timeout 60 env PIPEPROBE_COLLECTOR="$PP" "$BUILD/samples/c_loader" "$S/run.sqlite"; }
sound() { sql "$S/run.sqlite" 'PRAGMA integrity_check'; }

client
is "no room for a ring: the program goes on" "$rc" 0
like "no room for a ring: pp_close says so" "$(cat "$ERR")" "3 threads of .*small/run\.sqlite got no ring.*free some space"
is "no room for a ring: the file says so" "$(sql "$S/run.sqlite" "SELECT what, count FROM loss")" "threads|3"
is "no room for a ring: nothing else is left" "$(ls -A "$S")" run.sqlite

run timeout 60 "$PP" exec --force -o "$S/run.sqlite" -- "$CLIENT" push=100 exit=5
is "exec, no room for a ring: the program's exit code" "$rc" 5
like "exec, no room for a ring: said" "$(cat "$ERR")" "1 thread got no ring in .*small/run\.sqlite\.rings"
is "exec, no room for a ring: nothing else is left" "$(ls -A "$S")" run.sqlite

run timeout 60 "$PP" exec --force --ring-spans 1024 -o "$S/run.sqlite" -- "$CLIENT" push=1000 sleep=1500 push=1000000 exit=5
is "exec, the disk fills: the program's exit code" "$rc" 5
like "exec, the disk fills: said" "$(cat "$ERR")" "small/run\.sqlite.*full; free some space"
cp -r "$S" "$T/roomy"
run "$PP" report "$T/roomy/run.sqlite" --full
like "exec, the disk fills: elsewhere the rest is recovered" "$(cat "$OUT")" "recovered [0-9,]+ spans"
is "exec, the disk fills: sound" "$(sql "$T/roomy/run.sqlite" 'PRAGMA integrity_check')" ok
is "exec, the disk fills: nothing else is left" "$(ls -A "$T/roomy")" run.sqlite
is "exec, the disk fills: each span is stored or counted" "$(sql "$T/roomy/run.sqlite" "SELECT sum(recorded) + sum(dropped) FROM thread")" 1001000

# Killed while the disk is full: the job, the recorder, both. The recorder ends, the file opens or one sentence says why, here and where there is room.
for whom in job recorder both; do
    anew size=1m
    "$PP" exec --force --ring-spans 1024 -o "$S/run.sqlite" -- "$CLIENT" push=1000 sleep=1500 push=1000000 sleep=300000 >"$OUT" 2>"$ERR" </dev/null &
    recorder=$! job=
    for _ in $(seq 1200); do
        job=$(pgrep -P $recorder -x nvtx_client)
        [ -n "$job" ] && [ "$(df --output=avail "$S" | tail -n 1)" -eq 0 ] && break
        sleep 0.05
    done
    is "$whom killed: the disk is full then" "$(df --output=avail "$S" | tail -n 1 | tr -d ' ')" 0
    case $whom in job) killed=$job ;; recorder) killed=$recorder ;; both) killed="$recorder $job" ;; esac
    kill -9 $killed
    for _ in $(seq 1200); do kill -0 $recorder 2>/dev/null || break; sleep 0.05; done
    check "$whom killed: the recorder ends" bash -c "! kill -0 $recorder"
    kill -9 $job $recorder 2>/dev/null
    wait $recorder 2>/dev/null
    rc=$?
    is "$whom killed: its exit code" "$rc" 137
    [ $whom != job ] || like "$whom killed: the full disk is said" "$(cat "$ERR")" "small/run\.sqlite.*full; free some space"
    rm -rf "$T/roomy" && cp -r "$S" "$T/roomy"
    for file in "$S/run.sqlite" "$T/roomy/run.sqlite"; do
        run timeout 60 "$PP" report "$file"
        like "$whom killed: ${file#"$T/"} opens, or one sentence says why" "$rc $(wc -l <"$ERR")" "^([0-3] [0-9]+|4 1)$"
    done
    is "$whom killed: sound" "$(sql "$T/roomy/run.sqlite" 'PRAGMA integrity_check')" ok
    is "$whom killed: nothing else is left" "$(ls -A "$T/roomy")" run.sqlite
done

anew size=64m,nr_inodes=6
client
is "no inode for the log: the program goes on" "$rc" 0
like "no inode for the log: said" "$(cat "$ERR")" "small/run\.sqlite: no inode is left for its log; remove files"
run "$PP" report "$S/run.sqlite"
check "no inode for the log: a report is no crash" test "$rc" -lt 5
done_testing
