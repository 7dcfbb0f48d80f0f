#!/bin/bash
# idle
# OTLP over HTTP: metrics while a run goes on and traces of a recording, as OpenTelemetry's own package (PyPI) reads them, in both encodings; what a server
# can answer is a sentence, and the run goes on; credentials stay out of files and sentences; TLS is verified. The package is kept in build/venvs/otlp.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
MAKE_RUN=$BUILD/tests/tools/make_run
need_built helpers "$MAKE_RUN"
"$PP" doctor --only 'metrics push' | grep -q ^yes || skip_all "no libcurl"
for name in $(compgen -e OTEL_) SSL_CERT_FILE CURL_CA_BUNDLE http_proxy https_proxy; do unset "$name"; done
R=$T/run.sqlite
"$MAKE_RUN" "$R" --batches 50 --lossy || exit 1
small=(--synthetic n=200,size=64x64 --workers 1 -b 4 --force --step-ms 5)

# ---- what cannot be: usage, before anything runs
refuses "no URL" 2 'is no URL of OTLP over HTTP' "$PP" metrics "$R" --otlp here:4318
refuses "gRPC" 2 'gRPC, which pipeprobe does not speak' "$PP" metrics "$R" --otlp http://127.0.0.1:4317
refuses "the environment names no server" 2 'OTEL_EXPORTER_OTLP_ENDPOINT is not set' "$PP" metrics "$R" --otlp env
OTEL_EXPORTER_OTLP_HEADERS=s3cr3t refuses "a header that is none" 2 'entry 1 of OTEL_EXPORTER_OTLP_HEADERS' "$PP" metrics "$R" --otlp http://127.0.0.1:1
check "without its text" bash -c "! grep -q s3cr3t '$ERR'"
run "$PP" exec --otlp nowhere -- true
is "exec: a wrong URL starts nothing" "$rc" 125

# ---- the server
python=${PYTHON:-/usr/bin/python3}
dir=${VENVS:-$PWD/build/venvs}/otlp
if [ ! -e "$dir/complete" ] && ! { timeout 120 python3 -m pip --python "$python" install -q --retries 0 --target "$dir" opentelemetry-proto==1.45.2 && touch "$dir/complete"; } >"$T/pip" 2>&1; then
    rm -rf "$dir"
    skip "what servers make of it" "opentelemetry-proto cannot be had: $(tail -n 1 "$T/pip" | cut -c1-100)"
    done_testing
fi
servers=
# shellcheck disable=SC2086
cleanup() { kill $servers 2>/dev/null; wait $servers 2>/dev/null; rm -rf "$T"; }
serve() { # NAME [CERTIFICATE KEY]: sets port; what was taken is in $T/NAME/
    local name=$1 i
    shift
    mkdir "$T/$name"
    mkfifo "$T/life-$name"
    PYTHONPATH=$dir "$python" tests/tools/otlp_server.py "$T/$name" "$@" <>"$T/life-$name" >"$T/port-$name" 2>"$T/server-$name.err" &
    servers="$servers $!"
    for ((i = 0; i < 600; i++)); do [ -s "$T/port-$name" ] && break; sleep 0.1; done
    port=$(cat "$T/port-$name")
    [ -n "$port" ]
}
serve plain || { fail "the server starts" <"$T/server-plain.err"; done_testing; }
plain=http://127.0.0.1:$port
took() { # NAME QUERY: of what was taken as the table t(row)
    sqlite3 -batch -noheader :memory: "CREATE TABLE t AS SELECT value AS row FROM json_each('[' || replace(rtrim(CAST(readfile('$T/plain/$1') AS TEXT), char(10)), char(10), ',') || ']')" "$2"
}

# ---- metrics while a run goes on
for kind in protobuf json; do
    OTEL_EXPORTER_OTLP_PROTOCOL=http/$kind OTEL_EXPORTER_OTLP_HEADERS=Authorization=Bearer%20s3cr3t,x-extra=1 OTEL_RESOURCE_ATTRIBUTES=team=vision \
        run "$PP" run "${small[@]}" --steps 40 -o "$T/$kind.sqlite" --otlp "$plain/$kind" --metrics-all --metrics-label job=train --metrics-label run=a
    is "$kind: exit code of the run" "$((rc == 0 || rc == 3))" 1
    check "$kind: nothing is said" bash -c "! grep -Ei 'lost|otlp' '$ERR'"
    is "$kind: OpenTelemetry's package reads all" "$(took $kind "SELECT count(*) > 0, sum(json_extract(row, '\$.wrong') IS NOT NULL), sum(json_extract(row, '\$.gzip') = 0) FROM t")" "1|0|0"
    is "$kind: the path" "$(took $kind "SELECT DISTINCT json_extract(row, '\$.path') FROM t")" "/$kind/v1/metrics"
    is "$kind: with its headers" "$(took $kind "SELECT DISTINCT json_extract(row, '\$.authorization') || json_extract(row, '\$.x') FROM t")" "Bearer s3cr3t1"
    is "$kind: who sends" "$(took $kind "SELECT DISTINCT json_extract(row, '\$.resource.\"service.name\"') || ' ' || json_extract(row, '\$.resource.team') || ' ' || json_extract(row, '\$.scope') FROM t")" "train vision pipeprobe"
    "$PP" metrics "$T/$kind.sqlite" >"$T/$kind.prom"
    is "$kind: the last sum of batches" "$(took $kind "SELECT json_extract(p.value, '\$.value') FROM t, json_each(t.row, '\$.things') p WHERE json_extract(p.value, '\$.name') = 'pipeprobe.batches' ORDER BY t.rowid DESC LIMIT 1")" \
        "$(awk '/^pipeprobe_batches_total/ { print $2 }' "$T/$kind.prom")"
    is "$kind: sums are cumulative and only grow" "$(took $kind "SELECT count(*) > 5, sum(json_extract(p.value, '\$.temporality') <> 2), sum(NOT json_extract(p.value, '\$.monotonic')) FROM t, json_each(t.row, '\$.things') p
        WHERE json_extract(p.value, '\$.kind') = 'sum'")" "1|0|0"
    # What a collector makes of name, unit and kind for Prometheus is what Prometheus gets from us.
    took $kind "SELECT DISTINCT replace(json_extract(p.value, '\$.name'), '.', '_') ||
        CASE json_extract(p.value, '\$.unit') WHEN 's' THEN '_seconds' WHEN 'By' THEN '_bytes' WHEN '1' THEN '_ratio' ELSE '' END ||
        CASE json_extract(p.value, '\$.kind') WHEN 'sum' THEN '_total' ELSE '' END
        FROM t, json_each(t.row, '\$.things') p WHERE t.rowid = (SELECT max(rowid) FROM t)" | sort >"$T/$kind.names"
    sed -En 's/^# TYPE ([a-z_0-9]+) .*/\1/p' "$T/$kind.prom" | grep -v _info | sort >"$T/$kind.want"
    is "$kind: the names are those that Prometheus gets" "$(grep -vxFf "$T/$kind.names" "$T/$kind.want" | tr '\n' ' ')" ""
    is "$kind: the label is an attribute, the job is not" "$(took $kind "SELECT count(*) > 0, sum(json_extract(p.value, '\$.attributes.run') IS NOT 'a'), sum(json_extract(p.value, '\$.attributes.job') IS NOT NULL)
        FROM t, json_each(t.row, '\$.things') p")" "1|0|0"
    check "$kind: the secret is nowhere" bash -c "! grep -qa s3cr3t '$T/$kind.sqlite' '$OUT' '$ERR'"
done
is "the histogram adds up" "$(took protobuf "SELECT count(*) > 0, sum(json_extract(p.value, '\$.count') <> (SELECT sum(value) FROM json_each(p.value, '\$.buckets'))) FROM t, json_each(t.row, '\$.things') p
    WHERE json_extract(p.value, '\$.kind') = 'histogram'")" "1|0"
run env OTEL_EXPORTER_OTLP_ENDPOINT="$plain/env" OTEL_EXPORTER_OTLP_COMPRESSION=none "$PP" exec -o "$T/e.sqlite" --otlp env -- bash -c 'exit 7'
is "exec, as the environment says: the program's exit code" "$rc" 7
is "and what was sent, uncompressed" "$(took env "SELECT count(*) > 0, sum(json_extract(row, '\$.gzip')) FROM t")" "1|0"
run env OTEL_EXPORTER_OTLP_ENDPOINT="$plain/unasked" "$PP" exec -o "$T/u.sqlite" -- true
check "a job's own variables alone send nothing" test ! -e "$T/plain/unasked"

# ---- what a server answers to a recording that is complete: a sentence each, side by side
R=$T/protobuf.sqlite
modes() {
    cat <<'MODES'
400|answered 400: it does not understand the body
401|answered 401: it wants credentials
404|answered 404: it has no such path
413|answered 413: it finds the body too large
500|answered 500: its own trouble
429|answered 429: it wants to be asked less often
503|answered 503: its own trouble
partial|did not take 2 data points: two were \\x1b\[31mtoo old
silent|(failed: it )?did not answer
endless|failed: it answers without end
lying|failed: the connection was cut after
MODES
}
pids=
while IFS='|' read -r mode words; do
    timeout 60 "$PP" metrics "$R" --metrics-interval 1s --otlp "$plain/$mode" >"$T/$mode.out" 2>&1 &
    pids="$pids $!"
done < <(modes)
for mode in once-429 once-503 garbage; do
    timeout 60 "$PP" metrics "$R" --metrics-interval 1s --otlp "$plain/$mode" >"$T/$mode.out" 2>&1 &
    pids="$pids $!"
done
# shellcheck disable=SC2086
wait $pids
while IFS='|' read -r mode words; do
    like "$mode: the losses at the end" "$(tail -n 1 "$T/$mode.out")" "^pipeprobe metrics: --otlp: [0-9]+ of [0-9]+ texts were lost: (sending to )?$plain/$mode/v1/metrics $words"
    holds "$mode: no more than two sentences" "$(wc -l <"$T/$mode.out") <= 2"
done < <(modes)
for mode in 400 401 404 413 500 partial; do
    holds "$mode: what was refused is not sent again" "$(took $mode "SELECT count(*) FROM t") <= 2" # two texts
done
for mode in once-429 once-503; do
    like "$mode: a second try" "$(took $mode "SELECT group_concat(json_extract(row, '\$.status'), ' ') FROM t")" "^${mode#once-} 200"
done
is "an answer that is none is a 200" "$(cat "$T/garbage.out")" ""
OTEL_EXPORTER_OTLP_HEADERS=authorization=s3cr3t run timeout 60 "$PP" metrics "$R" --metrics-interval 1s --otlp "$plain/words"
like "a server that repeats the credentials" "$(cat "$ERR")" 'answered 400: it does not understand the body$'
check "is not quoted" bash -c "! grep -q s3cr3t '$ERR' '$OUT'"
run "$PP" run "${small[@]}" --steps 10 -o "$T/n.sqlite" --otlp http://me:s3cr3t@no.such.host.invalid
like "no such host: the run goes on, without the password" "$rc $(grep -F no.such "$ERR")" '^[03] .*http://no.such.host.invalid/v1/metrics failed: its host name cannot be resolved'
check "the password is nowhere" bash -c "! grep -qa s3cr3t '$T/n.sqlite' '$OUT' '$ERR'"

# ---- traces of a recording: one per batch
R=$T/run.sqlite
spans() { # NAME SELECT: of the table s(span) of what was taken
    took "$1" "WITH s AS (SELECT p.value AS span FROM t, json_each(t.row, '\$.things') p) $2"
}
for kind in protobuf json; do
    OTEL_EXPORTER_OTLP_PROTOCOL=http/$kind run "$PP" export "$R" -o "$plain/t-$kind"
    is "traces, $kind: exit code" "$rc" 0
    like "traces, $kind: what is said" "$(head -n 1 "$ERR")" "^[0-9,]+ spans of 50 batches to $plain/t-$kind/v1/traces, .* on the wire$"
    is "traces, $kind: OpenTelemetry's package reads all" "$(took t-$kind "SELECT count(*) > 0, sum(json_extract(row, '\$.wrong') IS NOT NULL) FROM t")" "1|0"
    is "traces, $kind: one per batch, each with a root" "$(spans t-$kind "SELECT count(DISTINCT json_extract(span, '\$.trace')), sum(json_extract(span, '\$.parent') = '') FROM s")" "50|50"
    is "traces, $kind: every parent is the root of the same trace" "$(spans t-$kind "SELECT count(*) FROM s a WHERE json_extract(a.span, '\$.parent') <> '' AND NOT EXISTS
        (SELECT 1 FROM s b WHERE json_extract(b.span, '\$.span') = json_extract(a.span, '\$.parent') AND json_extract(b.span, '\$.trace') = json_extract(a.span, '\$.trace'))")" 0
    is "traces, $kind: ids are of one span each" "$(spans t-$kind "SELECT count(*) - count(DISTINCT json_extract(span, '\$.span')) FROM s")" 0
    is "traces, $kind: the spans that belong to a batch" "$(spans t-$kind "SELECT count(*) - 50 FROM s")" "$(sql "$R" "SELECT count(*) FROM v_span WHERE batch IS NOT NULL")"
    is "traces, $kind: their time by phase is the recording's" \
        "$(spans t-$kind "SELECT json_extract(span, '\$.name') AS name, sum(json_extract(span, '\$.end') - json_extract(span, '\$.start')) FROM s WHERE name <> 'pipeprobe.batch' GROUP BY name ORDER BY name" | tr '\n' ' ')" \
        "$(sql "$R" "SELECT phase, sum(dur_ns) FROM v_span WHERE batch IS NOT NULL GROUP BY phase ORDER BY phase" | tr '\n' ' ')"
    is "traces, $kind: the trainer's step links to what its worker finished" "$(spans t-$kind "SELECT DISTINCT json_extract(b.span, '\$.name') FROM s a, s b
        WHERE json_extract(a.span, '\$.name') = 'step' AND json_extract(b.span, '\$.span') = json_extract(a.span, '\$.links[0][1]') AND json_extract(b.span, '\$.trace') = json_extract(a.span, '\$.trace')")" collate
done
is "the two encodings say the same" "$(spans t-json "SELECT count(*), min(span), max(span) FROM s")" "$(spans t-protobuf "SELECT count(*), min(span), max(span) FROM s")"
run "$PP" export "$R" --to otlp -o "$plain/t-few" --max-bytes 16Ki
like "a budget: what was left out is said" "$rc $(tr '\n' ' ' <"$ERR")" '^0 .* [1-9][0-9]* batch(es)? with shorter waits left out: --max-bytes'
holds "and kept to" "$(took t-few "SELECT sum(json_extract(row, '\$.bytes')) FROM t") <= 16384"
run "$PP" export "$R" --to otlp
is "a file: exit code" "$rc" 0
is "each line is a request" "$(sqlite3 :memory: "SELECT count(*) > 0, sum(json_array_length(value, '\$.resourceSpans') <> 1) FROM json_each('[' || replace(rtrim(CAST(readfile('$T/run.otlp.jsonl') AS TEXT), char(10)), char(10), ',') || ']')")" "1|0"
run "$PP" export "$R" --to otlp
is "an existing file is not replaced" "$rc" 2
"$PP" export "$R" --to otlp -q -o - >"$T/again"
check "a second export brings the same ids" cmp "$T/again" "$T/run.otlp.jsonl"
run "$PP" export "$R" -o "$plain/once-503"
is "a server that is busy once: taken at the second try" "$rc $(took once-503 "SELECT json_extract(row, '\$.status') FROM t WHERE json_extract(row, '\$.path') LIKE '%traces' ORDER BY rowid DESC LIMIT 1")" "0 200"
run "$PP" export "$R" -o "$plain/partial"
like "a server that takes a part" "$rc $(tail -n 1 "$ERR")" '^4 pipeprobe export: [0-9]+ of [0-9]+ spans were not taken: .* did not take 2 of [0-9]+ spans: two were'
run "$PP" export "$R" -o "$plain/400"
like "a server that refuses" "$rc $(tail -n 1 "$ERR")" '^4 pipeprobe export: ([0-9]+) of \1 spans were not taken: .* answered 400'
refuses "gRPC is not spoken" 2 'gRPC' "$PP" export "$R" -o http://127.0.0.1:4317
run "$PP" export "$R" -o ftp://me:s3cr3t@here
like "a URL that is none, without its password" "$rc $(cat "$ERR")" "^2 .*'ftp://here' is no URL"

# ---- TLS
R=$T/protobuf.sqlite
if ! command -v openssl >/dev/null; then
    skip "TLS" "openssl is not installed"
elif openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=pipeprobe-test -addext subjectAltName=IP:127.0.0.1 -keyout "$T/key.pem" -out "$T/own.pem" 2>"$T/openssl" &&
    serve tls "$T/own.pem" "$T/key.pem"; then
    tls=https://127.0.0.1:$port
    run timeout 60 "$PP" metrics "$R" --metrics-interval 1s --otlp "$tls/no"
    like "a certificate of its own is refused" "$(tail -n 1 "$ERR")" "texts were lost: sending to $tls/no/v1/metrics failed: the certificate of its host is not to be trusted"
    check "and nothing was sent" test ! -e "$T/tls/no"
    OTEL_EXPORTER_OTLP_CERTIFICATE=$T/own.pem run timeout 60 "$PP" metrics "$R" --metrics-interval 1s --otlp "$tls/named"
    is "its authority is named: taken" "$rc $(cat "$ERR") $([ -s "$T/tls/named" ] && echo taken)" "0  taken"
    SSL_CERT_FILE=$T/own.pem run timeout 60 "$PP" metrics "$R" --metrics-interval 1s --otlp "$tls/file"
    is "or in SSL_CERT_FILE" "$rc $(cat "$ERR")" "0 "
    OTEL_EXPORTER_OTLP_CERTIFICATE=$T/none.pem run timeout 60 "$PP" metrics "$R" --metrics-interval 1s --otlp "$tls/none"
    like "a file of authorities that is not there" "$(tail -n 1 "$ERR")" 'a file of certificates cannot be read'
else
    fail "a server with a certificate of its own" <"$T/openssl"
fi
done_testing
