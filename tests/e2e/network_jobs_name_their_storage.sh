#!/bin/bash
# alone
# Jobs that fetch their samples by HTTP, HTTPS or S3, one client each: the recording has the time in the fetch as reads and each request, and the verdict is
# storage. Clients that PYTHON lacks are skipped; `make field` makes one that has them all (PYTHON=build/venvs/field/bin/python), as for `make bench-network`.
# Jobs that wait for something else beside a logger's requests: it never is.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
PYTHON=${PYTHON:-/usr/bin/python3}
[ -e "$PWD/$BUILD/python/attach/_pipeprobe.abi3.so" ] || skip_all "the extension is not built: no Python.h"
"$PYTHON" -c 'import torch' 2>/dev/null || skip_all "$PYTHON has no torch"

servers=()
trap '[ $BASHPID -ne $$ ] || { kill "${servers[@]}" 2>/dev/null; cleanup; }' EXIT
serve() { # SCHEME OPTIONS...: $URL
    : >"$T/port"
    "$PYTHON" tests/jobs/object_server.py "${@:2}" >"$T/port" &
    servers+=($!)
    for _ in $(seq 100); do [ -s "$T/port" ] && break; sleep 0.1; done
    URL=$1://127.0.0.1:$(head -n 1 "$T/port")
}
serve http --latency-ms 40
PLAIN=$URL
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext "subjectAltName=IP:127.0.0.1,DNS:localhost" -keyout "$T/key" -out "$T/cert" 2>"$T/openssl"
cat "$T/key" "$T/cert" >"$T/both" 2>/dev/null
export SSL_CERT_FILE=$T/cert REQUESTS_CA_BUNDLE=$T/cert AWS_CA_BUNDLE=$T/cert AWS_EC2_METADATA_DISABLED=true

# 0: there is a recording of it, and $verdict has class and cause, $said the report.
record() { # CLIENT [--option ...]
    rm -f "$T"/r*.sqlite
    run timeout 100 "$PP" exec -q --force -o "$T/r.sqlite" -- "$PYTHON" tests/jobs/fetches.py "$1" "$URL" --samples "${SAMPLES:-160}" "${@:2}"
    if [ "$rc" = 77 ]; then skip "$*" "$(cat "$OUT")"; return 1; fi
    is "$*: the job's own status and output" "$rc $(grep -c '^rate' "$OUT")" "0 1"
    [ -e "$T/r.sqlite" ] || mv "$T/r-rank0000.sqlite" "$T/r.sqlite" # a job with a process group
    run "$PP" report "$T/r.sqlite"
    said=$(tr -s ' \n' ' ' <"$OUT")
    run "$PP" report --json "$T/r.sqlite"
    verdict="$(json "$OUT" '$.verdict.l1') $(json "$OUT" '$.verdict.l2')"
}
count() { sql "$T/r.sqlite" "SELECT $1 FROM request"; }

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


# The same behind TLS, of which the handshake is a part of the requests, and under a host's name. No status is known then.
if serve https --latency-ms 20 --tls "$T/both" --handshake-ms 30 && [ "$URL" != https://127.0.0.1: ]; then
    URL=${URL/127.0.0.1/localhost}
    record urllib && {
        is "https: a connection and a handshake for each sample" "$verdict $(count 'count(*), sum(flags & 1), max(status)')" "storage connections 160|160|0"
        holds "https: the handshake is what the server takes for it" "$(count 'avg(tls_ns) / 1e6') > 28 && $(count 'avg(tls_ns) / 1e6') < 60 && $(count 'avg(first_byte_ns) / 1e6') > 19"
        is "https: the host is said as the job names it, and its look-up is a part" "$(sql "$T/r.sqlite" 'SELECT address FROM request_place') $(count 'sum(resolve_ns > 0)')" "${URL#https://} 160"
        like "https: what to do" "$said" "Keep connections open: one client per worker"
    }
    for client in requests_session boto3_get pyarrow_s3 boto3_transfer; do
        record "$client" && is "https, $client: storage" "${verdict%% *}" storage
    done
else
    skip "https" "there is no openssl to make a certificate: $(tail -n 1 "$T/openssl")"
fi

# A store that refuses more than 60 requests a second: back-off is told from work, and nothing advises more of them.
serve http --latency-ms 10 --most 60
for client in requests_retry boto3_get; do
    SAMPLES=480 record "$client" --workers 4 || continue
    is "throttled, $client: the cause" "$verdict" "storage throttled"
    holds "throttled, $client: refusals are known, and what was asked again" "$(count 'sum(status = 503)') > 5 && $(count 'sum(status = 503)') == $(count 'sum(attempt > 0)') && $(count 'sum(status = 200)') == 480"
    holds "throttled, $client: so is the wait between them" "$(sql "$T/r.sqlite" "SELECT sum(dur_ns) FILTER (WHERE phase = 'retry') / 1e9 FROM v_span") > 0.5"
    like "throttled, $client: what to do" "$said" "packed into shards.*limit raised"
    is "throttled, $client: no more workers" "$(grep -ciE 'more (workers|requests in flight)' <<<"$said")" 0
done
URL=$PLAIN

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
