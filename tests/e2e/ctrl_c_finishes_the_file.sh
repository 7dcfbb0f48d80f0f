#!/bin/bash
# idle
# Ctrl-C finishes the file, prints the summary so far and exits 130; a second Ctrl-C ends at once and still leaves a readable file.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe

"$MAKE_DATASET" "$T/images" --n 64 --size 160x120 >/dev/null

# A shell starts background commands with SIGINT ignored; env gives them what a terminal would.
begin() { env --default-signal=INT "$PP" run "$T/images" "$@" >"$OUT" 2>"$ERR" </dev/null & pid=$!; }
finish() { # waits at most 20 s
    for _ in $(seq 200); do kill -0 $pid 2>/dev/null || break; sleep 0.1; done
    kill -9 $pid 2>/dev/null && echo "# it did not end by itself"
    wait $pid 2>/dev/null
    rc=$?
}

begin --duration 60 --batch-size 8 --workers 2 --step-ms 20 -o "$T/once.sqlite"
sleep 3
kill -INT $pid
echo "run, Ctrl-C after 3 s" >"$T/command"
finish
is "Ctrl-C: exit code" "$rc" 130
like "Ctrl-C: the summary so far" "$(cat "$OUT")" "samples/s"
like "Ctrl-C: and that it is one, in its first lines" "$(head -n 3 "$OUT")" "^INTERRUPTED after "
is "Ctrl-C: the file is whole" "$(sql "$T/once.sqlite" 'PRAGMA integrity_check')" ok
check "Ctrl-C: with its summary" test "$(sql "$T/once.sqlite" 'SELECT count(*) FROM v_phase_summary')" -gt 4
is "Ctrl-C: one ordinary file" "$(ls "$T"/once.sqlite* | wc -l)" 1
run "$PP" report "$T/once.sqlite"
like "Ctrl-C: report says so at once" "$(head -n 3 "$OUT")" "^INTERRUPTED after "

begin --duration 60 --batch-size 8 --workers 2 --step-ms 4000 -o "$T/twice.sqlite"
sleep 3
kill -INT $pid
sleep 1
kill -INT $pid
echo "run with steps of 4 s, Ctrl-C twice" >"$T/command"
began=$(date +%s%N)
finish
took_ms=$((($(date +%s%N) - began) / 1000000))
is "second Ctrl-C: exit code" "$rc" 130
holds "second Ctrl-C: ends without waiting for the step" "$took_ms < 2500"
is "second Ctrl-C: the file is whole" "$(sql "$T/twice.sqlite" 'PRAGMA integrity_check')" ok
check "second Ctrl-C: no crash" bash -c "! grep -qiE 'sanitizer|segmentation|core dumped|abort' '$ERR'"

# An injected wait, or a cost, of 20 s is not waited for.
for fault in read-latency=20s transform-cost=20s startup-cost=20s; do
    begin --duration 60 --batch-size 8 --workers 2 --inject $fault -o "$T/$fault.sqlite"
    sleep 2
    began=$(date +%s%N)
    kill -TERM $pid
    echo "run --inject $fault, SIGTERM after 2 s" >"$T/command"
    finish
    took_ms=$((($(date +%s%N) - began) / 1000000))
    echo "# it ended after $took_ms ms"
    is "SIGTERM during --inject $fault: exit code" "$rc" 130
    holds "SIGTERM during --inject $fault: ends without waiting for it" "$took_ms < 2500"
    is "SIGTERM during --inject $fault: the file is whole" "$(sql "$T/$fault.sqlite" 'PRAGMA integrity_check')" ok
done

begin --duration 60 --batch-size 8 --workers 2 --step-ms 20 -o "$T/term.sqlite"
sleep 2
kill -TERM $pid
echo "run, SIGTERM after 2 s" >"$T/command"
finish
is "SIGTERM finishes the file too" "$(sql "$T/term.sqlite" 'PRAGMA integrity_check') $(ls "$T"/term.sqlite* | wc -l)" "ok 1"

# A program that signals a process and its group, as timeout(1) does, sends one request twice.
begin --duration 60 --batch-size 8 --workers 2 --step-ms 20 -o "$T/group.sqlite"
sleep 2
kill -INT $pid
sleep 0.02
kill -INT $pid
echo "run, SIGINT twice within 20 ms" >"$T/command"
finish
is "two signals at once are one: exit code" "$rc" 130
is "two signals at once are one: the file is finished" "$(sql "$T/group.sqlite" 'PRAGMA integrity_check') $(ls "$T"/group.sqlite* | wc -l)" "ok 1"
check "two signals at once are one: not a second Ctrl-C" bash -c "! grep -q 'leaving at once' '$ERR'"

# Ctrl-C while it is still starting: once it is pipeprobe, and no longer env with the signals that the shell ignores.
begin --duration 60 -o "$T/early.sqlite"
for _ in $(seq 100); do [ "$(cat /proc/$pid/comm)" = pipeprobe ] && break; sleep 0.01; done
sleep 0.05
kill -INT $pid
echo "run, Ctrl-C after 50 ms" >"$T/command"
finish
check "Ctrl-C at once: exit code" test "$rc" -eq 130 -o "$rc" -eq 0
done_testing
