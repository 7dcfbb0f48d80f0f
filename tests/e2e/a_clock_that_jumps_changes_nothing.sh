#!/bin/bash
# The calendar's clock is set, by days and back, while a run is recorded, shown and reported: durations, rates and outcome are those of the monotonic clock.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
PRELOAD=$PWD/$BUILD/tests/tools/libjumping_clock.so
need_built helpers "$PRELOAD"
[[ $BUILD == */release ]] || skip_all "a sanitizer's own library has to come before one that is preloaded"
jumping=(env LD_PRELOAD="$PRELOAD" JUMPING_CLOCK_COUNT="$T/calls")

run timeout 60 "${jumping[@]}" "$PP" run --synthetic n=400,size=64x64 --workers 2 --batch-size 8 --step-ms 4 --steps 400 -q --json -o "$T/run.sqlite"
check "the run ends" test "$rc" -eq 0 -o "$rc" -eq 3
holds "(the clock was asked for)" "$(cat "$T/calls") >= 1"
is "all batches are there" "$(json "$OUT" '$.outcome') $(json "$OUT" '$.batches')" "finished 400"
# 400 steps of 4 ms; a busy machine may take longer, and no jump is below an hour.
holds "its duration is that of its steps" "$(json "$OUT" '$.duration_s') >= 1.6 && $(json "$OUT" '$.duration_s') < 600"
is "no span is longer" "$(sql "$T/run.sqlite" 'SELECT count(*) FROM span WHERE dur_ns < 0 OR dur_ns > 600000000000')" 0
is "the file is sound" "$(sql "$T/run.sqlite" 'PRAGMA integrity_check')" ok
run timeout 60 "${jumping[@]}" "$PP" report "$T/run.sqlite" --json
cp "$OUT" "$T/jumping.json"
run timeout 60 "$PP" report "$T/run.sqlite" --json
is "a report does not depend on the time of day" "$(cmp "$OUT" "$T/jumping.json" && echo same)" same

# Watched while it goes on: live, and neither stale nor killed.
"${jumping[@]}" "$PP" run --synthetic n=400,size=64x64 --workers 2 --batch-size 8 --step-ms 4 --duration 120 -q -o "$T/live.sqlite" >/dev/null 2>&1 </dev/null &
pid=$!
cleanup() { kill -9 $pid 2>/dev/null; rm -rf "$T"; }
state=
for _ in $(seq 300); do
    state=$("$PP" top "$T/live.sqlite" --once --size 80x24 2>/dev/null | grep -oE '^ (LIVE|STALE|ENDED [a-z]+) ')
    [ "$state" != " LIVE " ] || break
    sleep 0.1
done
is "it is seen to go on" "$state" " LIVE "
kill -INT $pid
wait $pid
is "it ends as ever" "$?" 130
run timeout 60 "$PP" top "$T/live.sqlite" --once --size 80x24
like "and is seen to have ended" "$(cat "$OUT")" '^ ENDED interrupted'
done_testing
