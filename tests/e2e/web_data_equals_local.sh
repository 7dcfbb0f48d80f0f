#!/bin/bash
# idle
# Shards behind http:// and https:// give the batches of local ones, whatever the server does wrong; every fault is survived and counted.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../remote.sh"
need_pipeprobe
need_remote

"$MAKE_DATASET" "$T/data" --n 60 --size 120x90 --tar 3 >/dev/null
cp "$T/data/shard-000000.tar" "$T/data/one.tar"
"$MAKE_DATASET" --tokens "$T/data/tokens.bin" --n 20000
serve "$T/data"
URL=http://127.0.0.1:$PORT

LOCAL=$(digest "$T/data/shard-{000000..000002}.tar" --epochs 1 --workers 2)
STREAM=$(digest "$T/data/shard-{000000..000002}.tar" --epochs 1 --workers 2 --stream)
like "there is a digest" "$LOCAL" '^[0-9a-f]{8,}$'
web=("$URL/shard-{000000..000002}.tar" --epochs 1 --workers 3)

is "shards" "$(digest "${web[@]}")" "$LOCAL"
requests=$(counted requests)
check "connections are reused" test "$(counted connections)" -lt $((requests / 4))
is "each request for a sample is a row" "$(sql "$T/run.sqlite" 'SELECT count(*) FROM request WHERE sample IS NOT NULL AND status = 206')" 60
is "with address and prefix" "$(sql "$T/run.sqlite" 'SELECT DISTINCT address, prefix FROM v_request WHERE sample IS NOT NULL')" "127.0.0.1:$PORT|$URL"
is "a list of URLs" "$(digest "$URL/shard-000000.tar,$URL/shard-{000001,000002}.tar" --epochs 1)" "$LOCAL"
set_faults ''
is "streamed" "$(digest "${web[@]}" --stream)" "$STREAM"
is "a look at each shard, and one request for all of it" "$(counted requests)" 6
is "file:// too" "$(digest "file://$T/data/shard-{000000..000002}.tar" --epochs 1)" "$LOCAL"
is "tokens by ranges" "$(digest "$URL/tokens.bin" --epochs 1 --window 64)" "$(digest "$T/data/tokens.bin" --epochs 1 --window 64)"

# ---- faults: each strikes once for a read, and a second try succeeds ----

retried() { sql "$T/run.sqlite" "SELECT count(*) FROM v_span WHERE phase = 'retry'"; }
for fault in busy error cut wrong; do
    set_faults "$fault=3"
    is "$fault: the same bytes" "$(digest "${web[@]}")" "$LOCAL"
    is "$fault: no sample is lost" "$(sql "$T/run.sqlite" 'SELECT count(*) FROM error')" 0
    struck=$(counted "$fault")
    check "$fault: it struck" test "$struck" -gt 5
    is "$fault: a retry for each" "$(retried)" "$struck"
    is "$fault: a second request for each" "$(sql "$T/run.sqlite" 'SELECT count(*) FROM request WHERE attempt = 1 AND sample IS NOT NULL')" "$struck"
done
for fault in redirect ignored; do
    set_faults "$fault=3"
    is "$fault: the same bytes" "$(digest "${web[@]}")" "$LOCAL"
    check "$fault: it struck" test "$(counted $fault)" -gt 0
    is "$fault: without a retry" "$(retried)" 0
done
set_faults always-ignored=1
is "a server without ranges: the same bytes" "$(digest "${web[@]}")" "$LOCAL"
set_faults busy=3
rm -rf "$XDG_CACHE_HOME"
is "busy while indexes are made: the same bytes" "$(digest "${web[@]}")" "$LOCAL"
set_faults cut=2
is "cut while streaming: the same bytes" "$(digest "${web[@]}" --stream)" "$STREAM"

# ---- several reads in flight per worker ----

set_faults 'latency-ms=150'
is "--inflight: the same bytes" "$(digest "${web[@]}" --workers 2 --inflight 8)" "$LOCAL"
most=$(counted most_in_flight)
check "--inflight: that many reads are in flight, and no more" test "$most" -gt 4 -a "$most" -le 16
set_faults 'busy=3&cut=4&gone=0'
is "--inflight with faults: the same bytes" "$(digest "${web[@]}" --workers 2 --inflight 5)" "$LOCAL"
is "--inflight with faults: a retry for each" "$(retried)" "$(($(counted busy) + $(counted cut)))"
is "--inflight with local files" "$(digest "$T/data/shard-{000000..000002}.tar" --epochs 1 --workers 2 --inflight 3)" "$LOCAL"
set_faults gone=4
run timeout 60 "$PP" run "${web[@]}" --inflight 4 --batch-size 8 --step none --force -o "$T/run.sqlite"
is "--inflight with 404: an error per sample" "$(sql "$T/run.sqlite" "SELECT count(*) FROM error WHERE kind = 'not-found'")" "$(counted gone)"
refuses "--inflight is not for streams" 2 "--inflight is for samples read by index" "$PP" run "$URL/one.tar" --stream --inflight 2 --no-record

# ---- what requests took stands in the recording, and in findings ----

finding() { sql :memory: "SELECT json_extract(value, '\$.$2') FROM json_each(CAST(readfile('$OUT') AS TEXT), '\$.findings') WHERE json_extract(value, '\$.kind') = '$1'"; }
number() { finding "$1" "numbers.$2"; }
set_faults 'latency-ms=100'
run timeout 60 "$PP" run "${web[@]:0:1}" --workers 3 --duration 4 --batch-size 4 --step-ms 1 --json --force -o "$T/run.sqlite"
is "latency with few requests in flight is found" "$(finding remote-latency state)" found
like "with what is in flight and what is needed" "$(finding remote-latency sentence)" "too few requests in flight .* until its first byte; [0-9.]+ in flight"
# A request counts when it ends: with three workers the mean may be above three by what began before the first reading.
holds "about as many are in flight as there are workers" "$(number remote-latency in_flight) > 0.5 && $(number remote-latency in_flight) < 6"
holds "the first byte takes what the server made it take" "$(number remote-latency first_byte_s) >= 0.1"
is "nothing was throttled" "$(finding remote-throttled state)" not-found
set_faults 'latency-ms=20&always-busy=5'
run timeout 60 "$PP" run "${web[@]:0:1}" --workers 3 --duration 3 --batch-size 4 --step-ms 1 --json --force -o "$T/run.sqlite"
is "throttling is found" "$(finding remote-throttled state)" found
check "each refusal is counted" test "$(sql "$T/run.sqlite" "SELECT max(value) FROM counter WHERE name = 'remote_throttled_total'")" = "$(counted busy).0"
run timeout 60 "$PP" report "$T/run.sqlite"
check "report opens it" test "$rc" -eq 0 -o "$rc" -eq 3

# ---- a server that does not answer ----

set_faults stall=1
rm -rf "$XDG_CACHE_HOME"
"$PP" run "${web[@]}" --no-record >"$OUT" 2>"$ERR" </dev/null &
opening=$!
for ((i = 0; i < 600; i++)); do
    [ "$(counted in_flight)" -lt 1 ] || break
    sleep 0.05
done
kill -INT $opening
for ((i = 0; i < 300; i++)); do
    kill -0 $opening 2>/dev/null || break
    sleep 0.05
done
check "Ctrl-C while a data set is opened: it ends" bash -c "! kill -0 $opening 2>/dev/null"
kill -KILL $opening 2>/dev/null
wait $opening
is "with the exit code of it" $? 130
set_faults 'stall-once=1'
is "a request that brings nothing is made again after --remote-timeout" "$(digest "${web[@]}" --remote-timeout 3)" "$LOCAL"

# ---- what cannot be survived is a data error or a sentence ----

set_faults gone=4
run timeout 60 "$PP" run "${web[@]}" --batch-size 8 --step none --force -o "$T/run.sqlite"
check "404 in the middle: the run goes on" test "$rc" -eq 0 -o "$rc" -eq 3
is "404: an error per sample" "$(sql "$T/run.sqlite" "SELECT count(*) FROM error WHERE kind = 'not-found' AND reason LIKE '%404 Not Found%'")" "$(counted gone)"
check "404: there were some" test "$(counted gone)" -gt 5
set_faults forbidden=4
run timeout 60 "$PP" run "${web[@]}" --batch-size 8 --step none --force -o "$T/run.sqlite"
is "403: an error per sample" "$(sql "$T/run.sqlite" "SELECT count(*) FROM error WHERE kind = 'access' AND reason LIKE '%403 Forbidden%'")" "$(counted forbidden)"
set_faults changed=20
run timeout 60 "$PP" run "${web[@]}" --batch-size 8 --step none --force -o "$T/run.sqlite"
check "an object that changes is an error, and never mixed bytes" test "$(sql "$T/run.sqlite" "SELECT count(*) FROM error WHERE kind = 'corrupt' AND reason LIKE '%was changed while it was being read%'")" -gt 5
set_faults ''

refuses "a missing shard is named" 2 "shard .*shard-000003.tar is missing \(number 4 of the 4 " "$PP" run "$URL/shard-{000000..000003}.tar" --no-record
refuses "a missing object" 2 "none.tar.*404 Not Found" "$PP" run "$URL/none.tar" --no-record
refuses "a folder has no listing" 4 "web servers have no listing" "$PP" run "$URL/data/" --no-record
refuses "a password is not taken, and not repeated" 2 "netrc" "$PP" run "http://joe:HIDDEN@127.0.0.1:$PORT/one.tar" --no-record
check "indeed not" bash -c "! grep -q HIDDEN '$ERR'"
refuses "a signed URL is not taken" 2 "signed" "$PP" run "$URL/one.tar?X-Amz-Signature=HIDDEN" --no-record
set_faults loop=1
refuses "redirects end" 4 "more than 5 redirects" "$PP" run "$URL/one.tar" --no-record
set_faults ''
refuses "a port without a server" 4 "accepts no connection" "$PP" run "http://127.0.0.1:1/one.tar" --no-record
refuses "other schemes" 2 "https://.*other URLs" "$PP" run "ftp://127.0.0.1/one.tar" --no-record

# ---- certificates ----

if command -v openssl >/dev/null && openssl req -x509 -newkey rsa:2048 -nodes -keyout "$T/key.pem" -out "$T/cert.pem" -days 2 -subj /CN=localhost \
    -addext subjectAltName=IP:127.0.0.1 >"$T/openssl" 2>&1; then
    serve "$T/data" --tls "$T/cert.pem" "$T/key.pem"
    refuses "a certificate of an unknown authority" 4 "certificate .*not .*trusted.*SSL_CERT_FILE" "$PP" run "https://127.0.0.1:$PORT/one.tar" --no-record
    is "the authority in SSL_CERT_FILE" "$(SSL_CERT_FILE=$T/cert.pem digest "https://127.0.0.1:$PORT/shard-{000000..000002}.tar" --epochs 1)" "$LOCAL"
    refuses "a certificate of another host" 4 "certificate .*not .*trusted" env SSL_CERT_FILE="$T/cert.pem" "$PP" run "https://localhost:$PORT/one.tar" --no-record
else
    skip "certificates" "openssl is not installed"
fi
done_testing
