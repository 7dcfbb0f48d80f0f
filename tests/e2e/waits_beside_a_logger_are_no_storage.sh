#!/bin/bash
# alone
# Jobs that wait for something else beside a logger's requests: that is never storage. Reads that nobody can time are said.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
. tests/network.sh

serve http --latency-ms 40
while read -r client options; do
    # shellcheck disable=SC2086
    record "$client" $options || continue
    is "$client: no storage" "${verdict%% *}" loader
    holds "$client: no read" "$(sql "$T/r.sqlite" "SELECT coalesce(sum(dur_ns) FILTER (WHERE phase = 'read'), 0) / sum(dur_ns) FROM v_span WHERE phase IN ('read', 'transform')") < 0.03"
    is "$client: no request of a sample" "$(count 'count(*)')" 0
done <<'ROWS'
sleep_and_logger
lock_and_logger
shared_lock
manager
writer_beside
sleep --gloo 2
shared_lock --gloo 2 --async --workers 0
ROWS
# Reads that nobody can time are said once, and change nothing for the job.
untimed() { grep -o "$1" <<<"$said" | wc -l; }
run timeout 100 "$PP" exec -q --force -o "$T/r.sqlite" -- env -u LD_PRELOAD "$PYTHON" tests/jobs/fetches.py sleep "$URL" --samples 96
is "without the library: the job's own status" "$rc" 0
said=$("$PP" report --full "$T/r.sqlite" | tr -s ' \n' ' ')
is "without the library: said once" "$(untimed 'the library that times them was not loaded')" 1
record uring && {
    said=$("$PP" report --full "$T/r.sqlite" | tr -s ' \n' ' ')
    is "io_uring: said once" "$(untimed 'made with io_uring')" 1
}
done_testing
