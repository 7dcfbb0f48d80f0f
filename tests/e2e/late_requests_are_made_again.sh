#!/bin/bash
# idle
# A request that is late is made again (--hedge), within its budget, and the bytes stay the same; connections spread over several addresses.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../remote.sh"
need_pipeprobe
need_remote

"$MAKE_DATASET" "$T/data" --n 60 --size 120x90 --tar 3 >/dev/null
serve "$T/data" --also 127.0.0.2
URL=http://127.0.0.1:$PORT
web=("$URL/shard-{000000..000002}.tar" --epochs 8 --workers 2)
LOCAL=$(digest "$T/data/shard-{000000..000002}.tar" --epochs 8 --workers 2)
like "there is a digest" "$LOCAL" '^[0-9a-f]{8,}$'
last() { sql "$T/run.sqlite" "SELECT CAST(coalesce(max(value), 0) AS INTEGER) FROM counter WHERE name = 'remote_$1_total'"; }
rows() { sql "$T/run.sqlite" "SELECT count(*) FROM request WHERE $1"; }

# ---- one request of forty takes a second: it is made again ----

set_faults 'always-late=40&late-ms=1000'
is "without --hedge: the same bytes" "$(digest "${web[@]}")" "$LOCAL"
is "and none is made again" "$(last hedges) $(rows 'flags & 6')" "0 0"
set_faults 'always-late=40&late-ms=1000'
is "with --hedge: the same bytes" "$(digest "${web[@]}" --hedge p95)" "$LOCAL"
check "late ones were made again" test "$(last hedges)" -ge 3
check "and the second answered first" test "$(last hedges_won)" -ge 1
check "within the budget" test "$(last hedges)" -le $((480 / 20 + 6))
is "each is a row" "$(rows 'flags & 2')" "$(last hedges)"
is "of each pair one is dropped" "$(rows 'flags & 4')" "$(last hedges)"
is "a request that was dropped is no failure" "$(last failed)" 0
is "each sample has one answer" "$(rows 'sample IS NOT NULL AND NOT flags & 4')" 480
set_faults 'always-late=40&late-ms=300&busy=3&cut=4&wrong=5'
is "with faults: the same bytes" "$(digest "${web[@]}" --hedge p99 --inflight 4)" "$LOCAL"
is "no sample is lost" "$(sql "$T/run.sqlite" 'SELECT count(*) FROM error')" 0
refuses "a quantile that is none" 2 "off, p95, p99|off\|p95\|p99|p95" "$PP" run "$URL/shard-000000.tar" --hedge p50 --no-record

# ---- several addresses ----

set_faults 'latency-ms=20'
named=("http://store.test:$PORT/shard-{000000..000002}.tar" --epochs 8 --workers 3 --inflight 8 --resolve "store.test:$PORT:127.0.0.1,127.0.0.2")
is "a name with two addresses: the same bytes" "$(digest "${named[@]}")" "$LOCAL"
is "connections spread over both" "$(sql "$T/run.sqlite" "SELECT group_concat(DISTINCT address) FROM (SELECT address FROM v_request WHERE address <> '' ORDER BY address)")" \
    "127.0.0.1:$PORT,127.0.0.2:$PORT"
refuses "an address without a host" 2 "HOST:PORT:ADDRESS" "$PP" run "$URL/shard-000000.tar" --resolve 127.0.0.2 --no-record
done_testing
