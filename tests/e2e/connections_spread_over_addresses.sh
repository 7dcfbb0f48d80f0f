#!/bin/bash
# A host name with several addresses: connections spread over them, and the bytes stay the same.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../remote.sh"
need_pipeprobe
need_remote

"$MAKE_DATASET" "$T/data" --n 60 --size 120x90 --tar 3 >/dev/null
serve "$T/data" --also 127.0.0.2
LOCAL=$(digest "$T/data/shard-{000000..000002}.tar" --epochs 8 --workers 2)
like "there is a digest" "$LOCAL" '^[0-9a-f]{8,}$'
set_faults 'latency-ms=20'
two_addresses
is "a name with two addresses: the same bytes" "$(digest "http://store.test:$PORT/shard-{000000..000002}.tar" --epochs 8 --workers 3 --inflight 8)" "$LOCAL"
is "connections spread over both" "$(sql "$T/run.sqlite" "SELECT group_concat(DISTINCT address) FROM (SELECT address FROM v_request WHERE address <> '' ORDER BY address)")" \
    "127.0.0.1:$PORT,127.0.0.2:$PORT"
done_testing
