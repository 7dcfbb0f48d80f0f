#!/bin/bash
# A file system that answers EIO, as a disk or a server that is gone: under the data set, under the recording, under the files that are read. Each is a sentence
# or an error row, the program that is recorded keeps its exit status, and what was committed is there when the disk is back.
. "$(dirname "$0")/../lib.sh"
. tests/slow_fs.sh
need_pipeprobe
CLIENT=$PWD/$BUILD/tests/tools/nvtx_client
need_built helpers "$CLIENT"
reason=$(why_no_fuse)
[ -z "$reason" ] || skip_all "$reason"
pid=
cleanup() { rm -f "$T/gone"; [ -z "$pid" ] || kill -9 "$pid" 2>/dev/null; [ -z "$slow_pid" ] || slow_unmount; rm -rf "$T"; }
clean_messages() { ! grep -qiE 'sanitizer|runtime error|bus error|segmentation|core dumped|assert' "$ERR"; }
until_true() { for _ in $(seq 600); do "$@" >/dev/null 2>&1 && return 0; sleep 0.1; done; return 1; }
ended() { # waits for $pid; a minute is too long
    local i
    for i in $(seq 600); do kill -0 "$pid" 2>/dev/null || break; sleep 0.1; done
    [ "$i" -lt 600 ] || kill -9 "$pid"
    wait "$pid" 2>/dev/null
    rc=$?
    pid=
}

"$MAKE_DATASET" "$T/images" --n 64 --size 64x48 --classes 2 >/dev/null

# ---- under the data set ----
slow_mount "$T/images" "eio=$T/gone" || { fail "the data set is mounted" <"$T/slow.log"; done_testing; }
common="--workers 2 --batch-size 8 --retries 1 --retry-backoff-ms 1 --force"
touch "$T/gone"
run timeout 60 "$PP" run "$T/slow" $common --epochs 1 -o "$T/none.sqlite"
is "nothing can be read: exit code" "$rc" 4
like "nothing can be read: the reason" "$(cat "$ERR")" "none of the last [0-9]+ samples could be used.*input/output error"
check "nothing can be read: no crash" clean_messages
rm "$T/gone"

# Gone for a while: what is tried again until it is back is no error.
env --default-signal=INT "$PP" run "$T/slow" --workers 2 --batch-size 8 --retries 100 --retry-backoff-ms 5 --epochs 60000 --step-ms 1 -q -o "$T/data.sqlite" >"$OUT" 2>"$ERR" </dev/null &
pid=$!
echo "run, whose data set fails for a while" >"$T/command"
more_spans_than() { [ "$(sqlite3 "$T/data.sqlite" 'SELECT coalesce(sum(n), 0) FROM chunk' 2>/dev/null || echo 0)" -gt "$1" ]; }
check "the run is under way" until_true more_spans_than 0
touch "$T/gone"
sleep 1.2 # a commit, at least
rm "$T/gone"
before=$(sqlite3 "$T/data.sqlite" 'SELECT sum(n) FROM chunk')
check "the disk is back: it goes on" until_true more_spans_than $((before + 200))
kill -INT $pid
ended
is "a data set that fails for a while: exit code" "$rc" 130
is "a data set that fails for a while: the file is whole" "$(sql "$T/data.sqlite" 'PRAGMA integrity_check')" ok
holds "a data set that fails for a while: reads were tried again" "$(sql "$T/data.sqlite" "SELECT coalesce(sum(count), 0) FROM v_phase_summary WHERE phase = 'retry'") > 0"
is "a data set that fails for a while: and no sample was lost" "$(sql "$T/data.sqlite" "SELECT count(*) FROM error WHERE action = 'skipped'")" 0
check "a data set that fails for a while: no crash" clean_messages
slow_unmount

# ---- reads that do not return ----
"$MAKE_DATASET" "$T/shards" --n 64 --size 64x48 --classes 2 --tar 2 >/dev/null
for way in images shards; do
    slow_mount "$T/$way" "read_ms=90000" || { fail "$way are mounted" <"$T/slow.log"; continue; }
    [ $way = shards ] && options=--stream || options=
    env --default-signal=INT "$PP" run "$T/slow" --workers 2 --batch-size 8 --duration 300 $options -o "$T/$way.sqlite" >"$OUT" 2>"$ERR" </dev/null &
    pid=$!
    echo "run $options, whose reads take 90 s, SIGTERM" >"$T/command"
    check "$way: the recording has begun" until_true sql "$T/$way.sqlite" "SELECT 1 FROM open_phase"
    sleep 1
    began=$(date +%s%N)
    kill -TERM $pid
    ended
    took_ms=$((($(date +%s%N) - began) / 1000000))
    echo "# it ended after $took_ms ms"
    is "$way, SIGTERM in a read of 90 s: exit code" "$rc" 130
    holds "$way, SIGTERM in a read of 90 s: ends without it" "$took_ms < 40000"
    is "$way, SIGTERM in a read of 90 s: the file is whole" "$(sql "$T/$way.sqlite" 'PRAGMA integrity_check') $(ls -d "$T/$way.sqlite"* | wc -l)" "ok 1"
    like "$way, SIGTERM in a read of 90 s: what did not return is said" "$(cat "$ERR")" "reads? hangs?; the run ended without"
    is "$way, SIGTERM in a read of 90 s: and counted" "$(sql "$T/$way.sqlite" "SELECT count(*) FROM loss WHERE what = 'reads'")" 1
    check "$way, SIGTERM in a read of 90 s: no crash" clean_messages
    slow_abandon
done

# ---- under the recording ----
mkdir "$T/disk"
slow_mount "$T/disk" "write,eio=$T/gone" || { fail "the disk is mounted" <"$T/slow.log"; done_testing; }
committed() { [ "$(sqlite3 "$T/slow/$1" 'SELECT coalesce(sum(n), 0) FROM chunk' 2>/dev/null || echo 0)" -gt 0 ]; }
"$PP" run --synthetic n=2000,size=32x32 --workers 2 --batch-size 8 --duration 12s -q -o "$T/slow/run.sqlite" >"$OUT" 2>"$ERR" </dev/null &
pid=$!
echo "run, whose disk fails" >"$T/command"
check "run: it has committed" until_true committed run.sqlite
touch "$T/gone"
ended
is "run, the disk fails: exit code" "$rc" 4
like "run, the disk fails: a sentence that names the file" "$(cat "$ERR")" "slow/run\.sqlite"
check "run, the disk fails: no crash" clean_messages
rm "$T/gone"
run timeout 60 "$PP" report "$T/slow/run.sqlite"
check "run, the disk is back: what was committed is there" test "$rc" -ne 4
is "run, the disk is back: the file is sound" "$(sql "$T/slow/run.sqlite" 'PRAGMA integrity_check')" ok
holds "run, the disk is back: with spans" "$(sql "$T/slow/run.sqlite" 'SELECT sum(n) FROM chunk') > 0"

"$PP" exec -q -o "$T/slow/exec.sqlite" -- "$CLIENT" names train=900 exit=7 >"$OUT" 2>"$ERR" </dev/null &
pid=$!
echo "exec, whose disk fails" >"$T/command"
check "exec: it records" until_true test -e "$T/disk/exec.sqlite.rings/ring-0002"
touch "$T/gone"
ended
is "exec, the disk fails: the exit status is the program's" "$rc" 7
check "exec, the disk fails: no crash" clean_messages
rm "$T/gone"
run timeout 60 "$PP" report "$T/slow/exec.sqlite"
check "exec, the disk is back: a report is no crash" test "$rc" -lt 5

# ---- under what is read ----
run timeout 60 "$PP" run --synthetic n=2000,size=32x32 --workers 1 --batch-size 8 --steps 200 -q --force -o "$T/slow/run.sqlite"
check "there is a recording" test "$rc" -eq 0 -o "$rc" -eq 3
cp "$T/disk/run.sqlite" "$T/copy.sqlite"
touch "$T/gone"
while read -r words; do
    # shellcheck disable=SC2086
    refuses "reading fails: ${words%% *}" 4 "slow/run\.sqlite.*(input/output|I/O) error" "$PP" $words
done <<ROWS
report $T/slow/run.sqlite
top --once $T/slow/run.sqlite
export $T/slow/run.sqlite --to chrome -o $T/out.json
whatif $T/slow/run.sqlite
compare $T/copy.sqlite $T/slow/run.sqlite
ROWS
rm "$T/gone"
slow_unmount
done_testing
