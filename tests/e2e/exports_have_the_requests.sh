#!/bin/bash
# Requests to a remote storage are in the timelines that a recording is exported to: each row of table request once, with the parts of its time, on tracks by
# address on which no request lies across another one.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../remote.sh"
need_pipeprobe
need_remote
python=${PERFETTO_PYTHON:-python3}

"$MAKE_DATASET" "$T/data" --n 60 --size 120x90 --tar 3 >/dev/null
serve "$T/data" --also 127.0.0.2
set_faults 'latency-ms=5&busy=5&close=7'
two_addresses
run timeout 60 "$PP" run "http://store.test:$PORT/shard-{000000..000002}.tar" --workers 2 --inflight 3 --epochs 2 --batch-size 4 \
    --transform rrc:32 --step none --quiet --force -o "$T/run.sqlite"
like "recorded" "$rc" "^[03]$" # short: there may be no verdict
whole="queue_ns + resolve_ns + connect_ns + tls_ns + first_byte_ns + transfer_ns"
sql "$T/run.sqlite" "WITH part(name, ns) AS (SELECT 'queue', queue_ns FROM request UNION ALL SELECT 'resolve', resolve_ns FROM request UNION ALL SELECT 'connect', connect_ns FROM request
    UNION ALL SELECT 'tls', tls_ns FROM request UNION ALL SELECT 'first byte', first_byte_ns FROM request UNION ALL SELECT 'transfer', transfer_ns FROM request
    UNION ALL SELECT iif(status, 'GET ' || status, 'no answer'), $whole FROM request)
    SELECT name, count(*), sum(ns) FROM part WHERE ns > 0 GROUP BY name ORDER BY name" >"$T/want"
holds "there are requests of several kinds" "$(wc -l <"$T/want") >= 5"
like "refused ones among them" "$(cat "$T/want")" "GET 503"

run "$PP" export "$T/run.sqlite" --to chrome
is "chrome: exported" "$rc" 0
like "and counted" "$(cat "$ERR")" "$(sql "$T/run.sqlite" 'SELECT count(*) FROM request') requests to storage"
sqlite3 "$T/chrome.db" "CREATE TABLE e AS SELECT value ->> 'name' AS name, value ->> 'cat' AS cat, value ->> 'tid' AS tid, CAST(round(value ->> 'ts' * 1000) AS INTEGER) AS start,
    CAST(round(value ->> 'dur' * 1000) AS INTEGER) AS ns, value -> 'args' ->> 'bytes' AS bytes, value -> 'args' ->> 'sample' AS sample, value -> 'args' ->> 'try' AS try
    FROM json_each(CAST(readfile('$T/run.trace.json') AS TEXT), '$.traceEvents') WHERE value ->> 'ph' = 'X' AND value ->> 'cat' LIKE 'request%'"
sql "$T/chrome.db" "SELECT name, count(*), sum(ns) FROM e GROUP BY name ORDER BY name" >"$T/got"
check "chrome: each request and each part once, with its length" diff "$T/want" "$T/got"
is "chrome: bytes, samples, tries" "$(sql "$T/chrome.db" "SELECT sum(bytes), count(DISTINCT sample), max(try) FROM e WHERE bytes IS NOT NULL")" \
    "$(sql "$T/run.sqlite" "SELECT sum(bytes), count(DISTINCT sample), max(attempt) + 1 FROM request")"
is "chrome: those that were refused are errors" "$(sql "$T/chrome.db" "SELECT count(*) FROM e WHERE cat = 'request,error'")" \
    "$(sql "$T/run.sqlite" "SELECT count(*) FROM request WHERE status >= 400 OR status = 0")"
is "chrome: no request of a track lies across another" \
    "$(sql "$T/chrome.db" "SELECT count(*) FROM (SELECT start, lag(start + ns) OVER (PARTITION BY tid ORDER BY start, ns) AS before FROM e WHERE bytes IS NOT NULL) WHERE before > start")" 0

run "$PP" export "$T/run.sqlite" --to nsys
is "nsys: exported" "$rc" 0
sql "$T/run.nsys.sqlite" "SELECT value, count(*), sum(end - start) FROM NVTX_EVENTS JOIN StringIds ON id = textId WHERE category = 1000 AND eventType = 59 GROUP BY value ORDER BY value" >"$T/got"
check "nsys: each request and each part is a range, with its length" diff "$T/want" "$T/got"
like "nsys: threads stand for the connections" "$(sql "$T/run.nsys.sqlite" "SELECT DISTINCT value FROM NVTX_EVENTS JOIN ThreadNames USING(globalTid) JOIN StringIds ON id = nameId WHERE category = 1000 AND eventType = 59")" \
    "^requests to 127.0.0.[12]:$PORT"

run "$PP" export "$T/run.sqlite" --to perfetto
is "perfetto: exported" "$rc" 0
if "$python" -c 'from perfetto.protos.perfetto.trace import perfetto_trace_pb2' 2>/dev/null; then
    awk -F'|' '{ n += $2; ns += $3 } END { printf "request|%d|%d|", n, ns }' "$T/want" >"$T/perfetto"
    sql "$T/run.sqlite" 'SELECT sum(bytes) FROM request' >>"$T/perfetto"
    run "$python" tests/e2e/perfetto_reads_our_export.py "$T/run.pftrace" "$T/perfetto"
    is "perfetto: the reference decoder reads it" "$rc" 0
    while read -r name got want; do is "perfetto: $name" "$got" "$want"; done <"$OUT"
else
    skip "perfetto: the reference decoder reads it" "the Python package perfetto is not installed"
fi

"$MAKE_DATASET" "$T/local" --n 20 --size 64x48 >/dev/null
run timeout 60 "$PP" run "$T/local" --epochs 1 --workers 1 --batch-size 4 --transform rrc:32 --step none --quiet --force -o "$T/local.sqlite"
run "$PP" export "$T/local.sqlite" --to nsys
is "local data have no category of requests" "$rc $(sql "$T/local.nsys.sqlite" 'SELECT count(*) FROM NVTX_EVENTS WHERE category = 1000')" "0 0"
done_testing
