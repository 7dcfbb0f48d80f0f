#!/bin/bash
# idle
# Servers whose answers to a request for one byte have no end, arrive by drops, unpack to gigabytes or lead to a file: `run` ends with the reason. A listing without
# end: a_listing_has_an_end.sh.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../remote.sh"
need_pipeprobe
need_remote
for name in $(compgen -e OTEL_) $(compgen -e MLFLOW_); do unset "$name"; done
python3 tests/e2e/answers_have_an_end.py "$T/port" &
server=$!
trap 'kill $server 2>/dev/null; cleanup' EXIT
for _ in $(seq 100); do [ -s "$T/port" ] && break; sleep 0.1; done
URL=http://127.0.0.1:$(cat "$T/port")

# ends KIND REGEX: within a minute and 300 MB of memory.
ends() {
    run bash -c "ulimit -v 2000000; exec timeout 60 '$PP' run '$URL/$1/a.tar' --duration 1s --workers 1 --remote-timeout 1 --force -o '$T/run.sqlite'"
    like "$1 ends" "$rc $(cat "$ERR")" "$2"
}
ends body "^[34] .*a\.tar"
ends drip "^4 .*a\.tar"
ends slow-header "^[34] .*(less than 1 KiB/s|did not answer)"
ends gzip "^[34] .*a\.tar"
ends file "^4 .*redirects to a URL that is neither http nor https"

# Metrics are sent to such a server: the run's own status, and a sentence on what was lost.
for sink in --otlp --mlflow; do
    run timeout 60 "$PP" run --synthetic n=4000,size=32x32 --duration 2s --workers 1 --quiet --force -o "$T/run.sqlite" $sink "$URL/body"
    like "$sink: it is lost, and the run is not" "$rc $(cat "$ERR")" "^[03] .*texts were lost: .*answers without end"
done

# So it is with the other kinds, side by side; the server's slow ones wait for the end of a request.
sending=()
for sink in otlp mlflow; do
    for kind in gzip drip slow-header file; do
        { timeout 60 "$PP" metrics "$T/run.sqlite" --metrics-interval 1s --$sink "$URL/$kind" 2>&1 | tail -n 1; echo "rc ${PIPESTATUS[0]}"; } >"$T/$sink.$kind" &
        sending+=($!)
    done
done
wait "${sending[@]}"
for sink in otlp mlflow; do
    like "$sink, gzip: not unpacked, and no answer" "$(paste -sd' ' "$T/$sink.gzip")" "texts were lost: .*answers without end rc 0$"
    for kind in drip slow-header; do like "$sink, $kind: it ends" "$(paste -sd' ' "$T/$sink.$kind")" "texts were lost: .*did not answer .*rc 0$"; done
    like "$sink: a redirect is not followed" "$(paste -sd' ' "$T/$sink.file")" "texts were lost: .*answered 302: it redirects; give the final URL rc 0$"
done
done_testing
