#!/bin/bash
# tests/bench/bench_metrics.sh: what sending metrics takes, by sink: throughput of a run with it over without, in turns; bytes of a text and on the wire;
# CPU time of the process that sends, from its start to the end of the run, as a share of the machine's CPUs; and the delay, from the newest second
# in a text to where it is read. ROUNDS (default 3), SECONDS_EACH (default 30), SINKS (default all). The servers are small ones of Python on the same machine:
# their time is in the throughput. OpenTelemetry's needs build/venvs/otlp, which tests/e2e/otlp_reaches_every_server.sh makes.
set -u
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build/release} PP=$PWD/${B:-build/release}/pipeprobe
ROUNDS=${ROUNDS:-3} SECONDS_EACH=${SECONDS_EACH:-30} PYTHON=${PYTHON:-/usr/bin/python3}
VENV=${VENVS:-$PWD/build/venvs}/otlp
T=$(mktemp -d) || exit 1
servers=
# shellcheck disable=SC2086
trap 'kill $servers 2>/dev/null; rm -rf "$T"' EXIT
for name in $(compgen -e | grep -E '^(PIPEPROBE|OTEL|MLFLOW)_'); do unset "$name"; done
serve() { # NAME PROGRAM...: prints nothing; the port is in $T/port-NAME
    local name=$1
    shift
    mkfifo "$T/life-$name"
    PYTHONPATH=$VENV "$PYTHON" "$@" <>"$T/life-$name" >"$T/port-$name" 2>/dev/null &
    servers="$servers $!"
    for ((i = 0; i < 300; i++)); do [ -s "$T/port-$name" ] && return; sleep 0.1; done
}
mkdir "$T/otlp" "$T/mlflow"
serve push tests/tools/push_server.py 202 "$T/push.log"
for how in silent endless lying garbage; do serve $how tests/tools/push_server.py $how "$T/$how.log"; done
serve mlflow tests/tools/mlflow_server.py "$T/mlflow"
sinks="none textfile endpoint push silent-push endless-push lying-push garbage-push tensorboard mlflow"
if [ -e "$VENV/complete" ]; then
    serve otlp tests/tools/otlp_server.py "$T/otlp"
    sinks="$sinks otlp otlp-json otlp-plain"
else
    echo "no OpenTelemetry: $VENV is missing" >&2
fi
sinks=${SINKS:-$sinks}
url() { echo "http://127.0.0.1:$(cat "$T/port-$1")"; }

options() {
    case $1 in
    none) ;;
    textfile) echo --metrics-textfile "$T/x.prom" ;;
    endpoint) echo --metrics 0 ;;
    push) echo --metrics-push "$(url push)" ;;
    *-push) echo --metrics-push "$(url "${1%-push}")" ;;
    tensorboard) echo --tensorboard "$T/events" ;;
    mlflow) echo --mlflow "$(url mlflow)/bench" ;;
    otlp*) echo --otlp "$(url otlp)/$1" ;;
    esac
}
environment() {
    case $1 in
    otlp-json) echo OTEL_EXPORTER_OTLP_PROTOCOL=http/json ;;
    otlp-plain) echo OTEL_EXPORTER_OTLP_COMPRESSION=none ;;
    esac
}
# Every second while the run goes on: what a reader gets, and how old its newest second is.
read_endpoint() { # LOG
    local at
    for ((i = 0; i < 100; i++)); do at=$(grep -Eo 'http://[^ ]*/metrics' "$1") && break; sleep 0.1; done
    while python3 -c 'import sys, urllib.request as u; b = u.urlopen(sys.argv[1], timeout=5).read(); open(sys.argv[2], "wb").write(b)' "$at" "$T/x.scrape" 2>/dev/null; do
        age "$T/x.scrape" "$(date +%s.%N)" >>"$T/delay.endpoint"
        sleep 1
    done
}
age() { awk -v now="$2" '/^pipeprobe_last_second_timestamp_seconds/ { printf "%.3f\n", now - $2 }' "$1" 2>/dev/null; }
cpu_of() { cat "/proc/$1"/task/*/schedstat 2>/dev/null | awk '{ s += $1 } END { printf "%.6f\n", s / 1e9 }'; }
rows() { [ -s "$1" ] && sqlite3 :memory: "WITH t AS (SELECT value AS row FROM json_each('[' || replace(rtrim(CAST(readfile('$1') AS TEXT), char(10)), char(10), ',') || ']')) $2"; }

one() { # SINK
    local sink=$1 run sender now body= reader= began=$SECONDS
    rm -rf "$T/otlp/$sink" "$T/mlflow/bench" "$T/events" "$T/x.prom" "$T/push.log.body"
    # shellcheck disable=SC2046
    env $(environment "$sink") "$PP" run --synthetic n=20000,size=160x120 --workers 2 -b 32 --step-ms 2 --duration "$SECONDS_EACH" --force -o "$T/run.sqlite" --json $(options "$sink") \
        >"$T/out.json" 2>"$T/err" &
    run=$!
    [ "$sink" = endpoint ] && { read_endpoint "$T/err" & reader=$!; }
    sleep 5
    sender=$(pgrep -P $run -f 'metrics --beside' | head -n 1)
    while ((SECONDS - began < SECONDS_EACH - 1)); do # the verdict of the whole run, after its end, holds nothing up
        sleep 1
        now=$(cpu_of "$sender")
        case $sink in textfile) body=$T/x.prom ;; push) body=$T/push.log.body ;; endpoint) body=$T/x.scrape ;; esac
        # its time is that of its file: a text that lies there for 5 s was no older when it came
        case $sink in textfile | push) [ -s "$body" ] && age "$body" "$(stat -c %.Y "$body")" >>"$T/delay.$sink" ;; esac
    done
    [ -n "$sender" ] && awk "BEGIN { print $now / ($SECONDS - $began) }" >>"$T/cpu.$sink"
    wait $run
    [ -n "$reader" ] && wait $reader
    sqlite3 :memory: "SELECT json_extract(CAST(readfile('$T/out.json') AS TEXT), '\$.samples_per_s')" >>"$T/rate.$sink"
    case $sink in
    otlp*)
        rows "$T/otlp/$sink" "SELECT json_extract(row, '\$.bytes') FROM t" >>"$T/bytes.$sink"
        rows "$T/otlp/$sink" "SELECT json_extract(row, '\$.wire') FROM t" >>"$T/wire.$sink"
        rows "$T/otlp/$sink" "SELECT json_array_length(row, '\$.things') FROM t" >>"$T/series.$sink"
        rows "$T/otlp/$sink" "SELECT json_extract(row, '\$.at') - json_extract(p.value, '\$.value') FROM t, json_each(row, '\$.things') p WHERE json_extract(p.value, '\$.name') = 'pipeprobe.last_second_timestamp'" >>"$T/delay.$sink"
        ;;
    mlflow)
        rows "$T/mlflow/bench" "SELECT json_extract(row, '\$.bytes') FROM t WHERE json_extract(row, '\$.body.metrics') IS NOT NULL" >>"$T/bytes.$sink"
        rows "$T/mlflow/bench" "SELECT json_array_length(row, '\$.body.metrics') FROM t WHERE json_extract(row, '\$.body.metrics') IS NOT NULL" >>"$T/series.$sink"
        cp "$T/bytes.$sink" "$T/wire.$sink" 2>/dev/null
        ;;
    tensorboard) cat "$T"/events/* 2>/dev/null | wc -c | awk -v n=$((SECONDS_EACH / 5 + 1)) '{ print int($1 / n) }' >>"$T/bytes.$sink" ;;
    *) [ -n "$body" ] && [ -s "$body" ] && { grep -vc '^#' "$body" >>"$T/series.$sink"; wc -c <"$body" | tee -a "$T/wire.$sink" >>"$T/bytes.$sink"; } ;;
    esac
}
for ((round = 0; round < ROUNDS; round++)); do
    for sink in $sinks; do one "$sink"; done
done
median() { sort -g "$1" 2>/dev/null | awk '{ v[NR] = $1 } END { if (NR) print v[int((NR + 1) / 2)]; else print "-" }'; }
base=$(median "$T/rate.none") cpus=$(nproc)
printf '%-12s %10s %8s %7s %10s %10s %12s %8s\n' sink samples/s ratio series "bytes" "on wire" "CPUs, share" "delay, s"
for sink in $sinks; do
    rate=$(median "$T/rate.$sink") cpu=$(median "$T/cpu.$sink")
    printf '%-12s %10.0f %8s %7s %10s %10s %12s %8s\n' "$sink" "$rate" "$(awk "BEGIN { if ($base + 0) printf \"%.4f\", $rate / $base; else print \"-\" }" 2>/dev/null || echo -)" \
        "$(median "$T/series.$sink")" "$(median "$T/bytes.$sink")" "$(median "$T/wire.$sink")" \
        "$(awk -v c="$cpu" -v n="$cpus" 'BEGIN { print c == "-" ? "-" : sprintf("%.3f %%", 100 * c / n) }')" "$(median "$T/delay.$sink" | awk '{ print $1 == "-" ? "-" : sprintf("%.2f", $1) }')"
done
