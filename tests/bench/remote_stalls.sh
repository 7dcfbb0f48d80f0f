#!/bin/bash
# remote_stalls.sh [--quick]: stalls of remote storage made on purpose by the fault server: is the cause right, and does the prediction come true?
#
# Each of 26 stalls is recorded, its cause compared with the label, and one change predicted from that recording (pipeprobe whatif). Then the change is made, at the
# server or in the options of the run, and its rate measured. Printed per stall: label, cause, rate, predicted and measured rate, error; at the end the share of right
# causes, and median and 95th percentile of the errors. --quick: every third stall, 4 s each. Environment: SECONDS_PER_RUN (8), ONLY (names by a regular expression).
# The machine should be idle: server, loader and decoder share its CPUs, so that the rates are kept far below what these allow.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../remote.sh"
need_pipeprobe
need_remote
quick=$([ "${1:-}" != --quick ]; echo $?)
seconds=${SECONDS_PER_RUN:-$([ "$quick" = 1 ] && echo 4 || echo 8)}

"$MAKE_DATASET" "$T/data" --n 400 --size 96x72 --tar 4 >/dev/null
"$MAKE_DATASET" "$T/data/hot" --n 200 --size 96x72 --tar 2 >/dev/null
"$MAKE_DATASET" "$T/data/tiny" --n 400 --size 96x72 --tar 40 >/dev/null
"$MAKE_DATASET" "$T/data/whole" --n 400 --size 96x72 --tar 1 >/dev/null
"$MAKE_DATASET" "$T/data/large" --n 200 --size 400x300 --tar 2 >/dev/null
serve "$T/data" --also 127.0.0.2
plain=$PORT
openssl req -x509 -newkey rsa:2048 -nodes -keyout "$T/key.pem" -out "$T/cert.pem" -days 2 -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1 >"$T/openssl" 2>&1 ||
    skip_all "openssl is not installed"
serve "$T/data" --tls "$T/cert.pem" "$T/key.pem"
tls=$PORT
export SSL_CERT_FILE=$T/cert.pem
small=http://127.0.0.1:$plain/shard-{000000..000003}.tar
hot=http://127.0.0.1:$plain/shard-{000000..000001}.tar,http://127.0.0.1:$plain/hot/shard-{000000..000001}.tar
large=http://127.0.0.1:$plain/large/shard-{000000..000001}.tar
two_addresses
secure=https://127.0.0.1:$tls/shard-{000000..000003}.tar
tiny=http://127.0.0.1:$plain/tiny/shard-{000000..000039}.tar
whole=http://127.0.0.1:$plain/whole/shard-000000.tar
named=http://store.test:$plain/shard-{000000..000003}.tar
set_server() { # OPTIONS: of both servers
    local kept=$PORT
    PORT=$plain set_faults "$1"
    "$PYTHON" -c 'import ssl, sys, urllib.request; urllib.request.urlopen(sys.argv[1], context=ssl._create_unverified_context())' "https://127.0.0.1:$tls/_set?$1"
    PORT=$kept
}

# name | label | URL | server | options of the run | knob | changed server | changed options
read -r -d '' stalls <<END
in-flight-20|in-flight|$small|latency-ms=20|--step-ms 10|inflight=4||--inflight 4
in-flight-40|in-flight|$small|latency-ms=40|--step-ms 10|inflight=4||--inflight 4
in-flight-80|in-flight|$small|latency-ms=80|--step-ms 10|inflight=8||--inflight 8
in-flight-some|in-flight|$small|latency-ms=80|--step-ms 10 --inflight 2|inflight=6||--inflight 6
workers-40|in-flight|$small|latency-ms=40|--step-ms 10|workers=6||--workers 6
latency-halved|in-flight|$small|latency-ms=80|--step-ms 10|object-latency=0.5|latency-ms=40|
small-objects-100|small-objects|$small|latency-ms=100|--step-ms 0.1|inflight=4||--inflight 4
small-objects-150|small-objects|$small|latency-ms=150|--step-ms 0.1|inflight=8||--inflight 8
stream-300|stream-bandwidth|$large|latency-ms=5&stream-bps=300000|--step-ms 10|inflight=4||--inflight 4
stream-600|stream-bandwidth|$large|latency-ms=5&stream-bps=600000|--step-ms 10|inflight=3||--inflight 3
stream-doubled|stream-bandwidth|$large|latency-ms=5&stream-bps=400000|--step-ms 10|stream-bandwidth=800000|latency-ms=5&stream-bps=800000|
link-1M|bandwidth|$large|latency-ms=15&link-bps=1000000|--step-ms 10 --inflight 2|storage-bandwidth=2000000|latency-ms=15&link-bps=2000000|
link-2M|bandwidth|$large|latency-ms=40&link-bps=2000000|--step-ms 10 --workers 4|inflight=3||--inflight 3
throttled-3|throttled|$small|latency-ms=10&always-busy=3|--step-ms 10|retries=0|latency-ms=10|
throttled-5|throttled|$small|latency-ms=10&always-busy=5|--step-ms 10|retries=0|latency-ms=10|
throttled-many|throttled|$small|latency-ms=10&always-busy=4|--step-ms 10 --inflight 2|retries=0|latency-ms=10|
hot-prefix-2|hot-prefix|$hot|latency-ms=10&always-busy=2&busy-prefix=/hot/|--step-ms 10|retries=0|latency-ms=10|
hot-prefix-3|hot-prefix|$hot|latency-ms=10&always-busy=3&busy-prefix=/hot/|--step-ms 10|retries=0|latency-ms=10|
churn-40|connections|$secure|latency-ms=10&close=2&handshake-ms=40|--step-ms 10|connections=kept|latency-ms=10|
churn-80|connections|$secure|latency-ms=20&close=2&handshake-ms=80|--step-ms 10|connections=kept|latency-ms=20|
slow-host-100|slow-host|$named|latency-ms=15&slow-ms=100|--step-ms 10 --inflight 4|hosts=even|latency-ms=15|
slow-host-200|slow-host|$named|latency-ms=20&slow-ms=200|--step-ms 10 --inflight 4|hosts=even|latency-ms=20|
tail-300|latency-tail|$small|latency-ms=8&latency-p99-ms=300|--step-ms 10|inflight=4||--inflight 4
tail-500|latency-tail|$small|latency-ms=10&latency-p99-ms=500|--step-ms 10|inflight=4||--inflight 4
small-shards-40|small-objects|$tiny|latency-ms=40|--stream --shuffle-buffer 1 --step-ms 10|shard-size=256MiB||$whole
small-shards-100|small-objects|$tiny|latency-ms=100|--stream --shuffle-buffer 1 --step-ms 10|shard-size=256MiB||$whole
END

run_once() { # URL OPTIONS...: samples/s; the recording is run.sqlite, the report run.json
    "$PP" run "$1" --workers 2 --batch-size 4 --transform rrc:32,hflip "${@:2}" --duration "${seconds}s" --quiet --force \
        -o "$T/run.sqlite" --json >"$T/run.json" 2>"$T/err" || [ $? = 3 ] || { cat "$T/err" >&2; exit 1; }
    json "$T/run.json" '$.samples_per_s'
}

number=0
while IFS='|' read -r name label url server options knob changed_server changed_options; do
    number=$((number + 1))
    [ "$quick" = 0 ] || [ $((number % 3)) = 1 ] || continue
    [[ $name =~ ${ONLY:-.} ]] || continue
    set_server "$server"
    # shellcheck disable=SC2086 # options are words
    base=$(run_once "$url" $options) || exit 1
    cause=$(json "$T/run.json" '$.verdict.l2')
    predicted=- low=- high=-
    if "$PP" whatif "$T/run.sqlite" --set "$knob" --json >"$T/whatif.json" 2>"$T/whatif.err"; then
        predicted=$(json "$T/whatif.json" '$.predictions[0].samples_per_s')
        low=$(json "$T/whatif.json" '$.predictions[0].low') high=$(json "$T/whatif.json" '$.predictions[0].high')
    else
        sed 's/^/    /' "$T/whatif.err" >&2
    fi
    set_server "${changed_server:-$server}"
    # shellcheck disable=SC2086
    case $changed_options in http*) url=$changed_options changed_options= ;; esac # the same data in other shards
    measured=$(run_once "$url" $options $changed_options) || exit 1
    echo "$name $label ${cause:--} $knob $base $predicted $low $high $measured" | tee -a "$T/rows" |
        awk '{ e = $6 == "-" ? "-" : sprintf("%+.1f %%", 100 * ($6 / $9 - 1)); printf "%-16s %-17s %-17s %-26s %8.1f %8.1f %8.1f  %s\n", $1, $2, $3, $4, $5, $6, $9, e }' >&2
done <<<"$stalls"

echo "stall            label             cause             change                       base/s predicted  measured  error    ($seconds s a run, $(nproc) CPUs)"
awk '{ e = $6 == "-" ? "-" : sprintf("%+.1f %%", 100 * ($6 / $9 - 1)); printf "%-16s %-17s %-17s %-26s %8.1f %9.1f %9.1f  %s\n", $1, $2, $3, $4, $5, $6, $9, e }' "$T/rows"
awk '
{ n++; right += $2 == $3; if ($6 != "-") { e = $6 / $9 - 1; off[m++] = e < 0 ? -e : e; held += $9 >= $7 && $9 <= $8 } }
END {
    for (i = 0; i < m; i++) for (k = i + 1; k < m; k++) if (off[k] < off[i]) { t = off[i]; off[i] = off[k]; off[k] = t }
    printf "causes right: %d of %d (%.0f %%); predictions: %d, median error %.1f %%, p95 %.1f %%, in their interval %d\n", right, n, 100 * right / n, m,
        100 * off[int((m - 1) / 2)], 100 * off[int(0.95 * (m - 1) + 0.5)], held
}' "$T/rows"
