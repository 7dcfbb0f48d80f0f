#!/bin/bash
# alone
# Jobs that fetch their samples by HTTP, one client each: the recording has the time in the fetch as reads and each request, and the verdict is storage.
# Jobs that wait for something else beside a logger's requests: it never is.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
PYTHON=${PYTHON:-/usr/bin/python3}
[ -e "$PWD/$BUILD/python/attach/_pipeprobe.abi3.so" ] || skip_all "the extension is not built: no Python.h"
"$PYTHON" -c 'import torch' 2>/dev/null || skip_all "$PYTHON has no torch"

"$PYTHON" tests/jobs/object_server.py --latency-ms 40 >"$T/port" &
SERVER=$!
trap '[ $BASHPID -ne $$ ] || { kill $SERVER 2>/dev/null; cleanup; }' EXIT
for _ in $(seq 100); do [ -s "$T/port" ] && break; sleep 0.1; done
URL=http://127.0.0.1:$(head -n 1 "$T/port")

# 0: there is a recording of it, and $verdict has class and cause, $said the report.
record() { # CLIENT [--option ...]
    run timeout 100 "$PP" exec -q --force -o "$T/r.sqlite" -- "$PYTHON" tests/jobs/fetches.py "$1" "$URL" --samples 160 "${@:2}"
    if [ "$rc" = 77 ]; then skip "$*" "$(cat "$OUT")"; return 1; fi
    is "$*: the job's own status and output" "$rc $(grep -c '^rate' "$OUT")" "0 1"
    run "$PP" report "$T/r.sqlite"
    said=$(cat "$OUT")
    run "$PP" report --json "$T/r.sqlite"
    verdict="$(json "$OUT" '$.verdict.l1') $(json "$OUT" '$.verdict.l2')"
}
count() { sql "$T/r.sqlite" "SELECT $1 FROM request"; }

# CLIENT REQUESTS CONNECTIONS: of 160 samples by two workers
while read -r client requests connections; do
    record "$client" || continue
    is "$client: the cause" "$verdict" "storage in-flight"
    is "$client: its requests, their host and their samples" "$(count 'count(*), count(DISTINCT sample)') $(sql "$T/r.sqlite" 'SELECT address FROM request_place')" "$requests|160 ${URL#http://}"
    is "$client: the connections" "$(count 'sum(flags & 1)')" "$connections"
    holds "$client: the server's latency is the first byte's" "$(count 'avg(first_byte_ns) / 1e6') > 39 && $(count 'min(first_byte_ns) / 1e6') > 35"
    holds "$client: the fetch is a read" "$(sql "$T/r.sqlite" "SELECT sum(dur_ns) FILTER (WHERE phase = 'read') / 1e6 / 160 FROM v_span") > 38 * $requests / 160"
    like "$client: what to do" "$said" "more workers \(num_workers\)"
    is "$client: no option of another loader" "$(grep -c inflight <<<"$said")" 0
    cp "$T/r.sqlite" "$T/last.sqlite"
done <<'ROWS'
urllib 160 160
urllib_timeout 160 160
requests_get 160 160
requests_session 160 2
head_and_get 320 2
httpx_client 160 2
fsspec_http 160 2
aiohttp_loop 160 2
ROWS
run "$PP" whatif "$T/last.sqlite" --set connections=kept --set object-latency=0.5
is "knobs of requests are known to it" "$rc" 0
is "no path, query or header is recorded" "$(strings "$T/last.sqlite" | grep -cE 'GET /|HTTP/1|User-Agent')" 0

for client in curl curl_pipe; do
    command -v curl >/dev/null || { skip "$client" "there is no curl"; continue; }
    record "$client" || continue
    is "$client: what a child brings is a read" "$verdict" "storage latency"
done
record threads --samples 480 && {
    is "threads: what other threads bring is a read" "${verdict%% *}" storage
    holds "threads: each request once, and what was asked for ahead" "$(count 'count(*)') >= 450 && $(count 'count(*)') <= 498"
}
record urllib --stream && is "stream: requests of samples without a number" "$verdict $(count 'count(*)')" "storage in-flight 160"

for client in sleep_and_logger lock_and_logger shared_lock manager; do
    record "$client" || continue
    is "$client: no storage" "${verdict%% *}" loader
    holds "$client: no read" "$(sql "$T/r.sqlite" "SELECT coalesce(sum(dur_ns) FILTER (WHERE phase = 'read'), 0) / sum(dur_ns) FROM v_span WHERE phase IN ('read', 'transform')") < 0.03"
    is "$client: no request of a sample" "$(count 'count(*)')" 0
done
done_testing
