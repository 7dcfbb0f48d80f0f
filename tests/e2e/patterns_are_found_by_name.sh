#!/bin/bash
# idle
# What people ask about by name, made for real by a loader that links libpipeprobe: each pattern is found, and its counterpart is not.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe

export PIPEPROBE_COLLECTOR=$PP
finding() { # FILE KIND FIELD
    "$PP" report "$T/$1.sqlite" --json >"$T/report.json"
    sqlite3 :memory: "SELECT json_extract(value, '\$.$3') FROM json_each(CAST(readfile('$T/report.json') AS TEXT), '\$.findings') WHERE json_extract(value, '\$.kind') = '$2'"
}
# All loaders sleep instead of working, so they run at the same time.
declare -A running
for pattern in lockstep slow fast restarts keeps leaks steady drains; do
    timeout 120 "$BUILD/tests/tools/pattern_client" "$T/$pattern.sqlite" $pattern >"$T/$pattern.log" 2>&1 &
    running[$pattern]=$!
done
client() { # NAME: waits for it
    wait ${running[$1]}
    rc=$?
    if [ $rc -eq 0 ]; then pass "a loader: $1"; else fail "a loader: $1: exit code $rc" <"$T/$1.log"; fi
}

client lockstep
is "waits every num_workers batches are found" "$(finding lockstep lockstep-waits state)" found
like "by name" "$(finding lockstep lockstep-waits sentence)" "waits come every 4 batches, and there are 4 workers .*all equally slow"
like "with what to change in PyTorch" "$(finding lockstep lockstep-waits next_step)" "num_workers"
client slow
like "one slow worker is told from that" "$(finding slow lockstep-waits sentence)" "worker-0 takes [34]\.[0-9]* times as long"
client fast
is "a trainer that never waits has no such pattern" "$(finding fast lockstep-waits state)" not-found

client restarts
is "workers that restart every epoch are found" "$(finding restarts worker-restarts state)" found
like "with how many" "$(finding restarts worker-restarts sentence)" "6 workers were started again in 4 epochs, so the workers restart every epoch"
like "and persistent_workers" "$(finding restarts worker-restarts next_step)" "persistent_workers=True"
is "so is the wait at the start of every epoch" "$(finding restarts epoch-boundaries state)" found
like "beside the other waits" "$(finding restarts epoch-boundaries sentence)" "each epoch starts with a wait of [0-9.]+ m?s \(at most [0-9.]+ m?s; 3 epoch starts"
client keeps
is "workers that live for all epochs are not" "$(finding keeps worker-restarts state)" not-found
is "and no epoch begins with a wait" "$(finding keeps epoch-boundaries state)" not-found

# Worker processes whose memory is watched.
client leaks
is "memory that grows is found" "$(finding leaks memory-growth state)" found
like "with the worker, its rate and when the memory is full" "$(finding leaks memory-growth sentence)" "worker-1 \(process [0-9]+\) grows [0-9.]+ MiB/s \([0-9.]+ MiB to [0-9.]+ MiB\), in memory of its own: it keeps what it makes; at this rate the [0-9.]+ .iB still available are full in"
client steady
is "memory that does not grow is not" "$(finding steady memory-growth state)" not-found

# Prefetched batches that run out: said before the stall, second by second of the recording.
client drains
soon= stalled=
for at in $(seq 1 14); do
    "$PP" top "$T/drains.sqlite" --once --json --at ${at}s >"$T/top.json" 2>/dev/null || continue
    [ -n "$soon" ] || [ -z "$(json "$T/top.json" '$.buffer_lasts_s')" ] || soon=$at
    [ -n "$stalled" ] || [ "$(awk "BEGIN { print ($(json "$T/top.json" '$.data_wait_share') + 0 >= 0.2) }")" = 0 ] || stalled=$at
done
holds "a warning comes before the stall (at ${soon:-never} s, the stall at ${stalled:-never} s)" "${soon:-99} < ${stalled:-0}"
[ -z "$soon" ] || like "as a sentence" "$("$PP" top "$T/drains.sqlite" --once --size 120x24 --at "${soon}s")" "SOON: at this rate the [0-9]+ prefetched batches last .*, then the trainer stalls"

# A worker that hangs: while it does, and afterwards in a run that was killed.
"$BUILD/tests/tools/pattern_client" "$T/hangs.sqlite" hangs &
pid=$!
hung=
for _ in $(seq 100); do
    hung=$("$PP" top "$T/hangs.sqlite" --once --size 100x24 2>/dev/null | head -n 2)
    case $hung in *HANG*|*STALLED*) break ;; esac
    sleep 0.2
done
like "top says so while it hangs" "$hung" "worker-1 hangs in read since 0:|worker-1 has been in read for"
kill -KILL $pid
wait $pid 2>/dev/null
sleep 1
is "a hang is found afterwards" "$(finding hangs worker-hang state)" found
like "with the worker, the phase, the sample, and since when" "$(finding hangs worker-hang sentence)" "worker-1 hangs in read of sample [0-9]+ since [0-9.]+ m?s: [0-9.]+ s when the recording ended, usually"
is "a run without one has none" "$(finding fast worker-hang state)" not-found
done_testing
