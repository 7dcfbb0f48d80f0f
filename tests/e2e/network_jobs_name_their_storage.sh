#!/bin/bash
# alone
# Jobs that fetch their samples by HTTP or S3, one client each: the recording has the time in the fetch as reads and each request, and the verdict is
# storage.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
. tests/network.sh
export AWS_EC2_METADATA_DISABLED=true

serve http --latency-ms 40
# CLIENT CAUSE REQUESTS CONNECTIONS: of 160 samples by two workers; more connections where a client makes a pool of them
while read -r client cause requests connections; do
    record "$client" || continue
    is "$client: the cause" "$verdict" "storage $cause"
    is "$client: its requests, their host and their samples" "$(count 'count(*), count(DISTINCT sample)') $(sql "$T/r.sqlite" 'SELECT address FROM request_place')" "$requests|160 ${URL#http://}"
    is "$client: the connections" "$(count 'sum(flags & 1)')" "$connections"
    holds "$client: the server's latency is the first byte's" "$(count 'avg(first_byte_ns) / 1e6') > 39 && $(count 'min(first_byte_ns) / 1e6') > 35"
    holds "$client: the fetch is a read" "$(sql "$T/r.sqlite" "SELECT sum(dur_ns) FILTER (WHERE phase = 'read') / 1e6 / 160 FROM v_span") > 38 * $requests / 160"
    like "$client: what to do" "$said" "more workers \(num_workers\)"
    [ "$cause" != two-requests ] || like "$client: the request to leave out" "$said" "leave out the HEAD"
    is "$client: no option of another loader" "$(grep -c inflight <<<"$said")" 0
    cp "$T/r.sqlite" "$T/last.sqlite"
done <<'ROWS'
urllib in-flight 160 160
urllib_timeout in-flight 160 160
requests_get in-flight 160 160
requests_session in-flight 160 2
urllib3_pool in-flight 160 2
head_and_get two-requests 320 2
httpx_client in-flight 160 2
fsspec_http in-flight 160 2
aiohttp_loop in-flight 160 2
boto3_get in-flight 160 2
smart_open_s3 in-flight 160 2
pyarrow_s3 two-requests 320 2
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
record webdataset_pipe --stream --samples 480 && is "webdataset_pipe: shards through a pipe are reads" "${verdict%% *}" storage
record urllib --stream && is "stream: requests of samples without a number" "$verdict $(count 'count(*)')" "storage in-flight 160"
done_testing
