#!/bin/bash
# alone
# Jobs that fetch their samples behind TLS, whose handshake is a part of the requests; and from a store that refuses some: the wait between two tries is no
# work.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
. tests/network.sh

openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext "subjectAltName=IP:127.0.0.1,DNS:localhost" -keyout "$T/key" -out "$T/cert" 2>"$T/openssl"
cat "$T/key" "$T/cert" >"$T/both" 2>/dev/null
export SSL_CERT_FILE=$T/cert REQUESTS_CA_BUNDLE=$T/cert AWS_CA_BUNDLE=$T/cert AWS_EC2_METADATA_DISABLED=true

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
done_testing
