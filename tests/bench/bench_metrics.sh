#!/bin/bash
# tests/bench/bench_metrics.sh: what sending metrics takes: series and bytes of a text, CPU time of the process that sends, and the throughput of a
# run with each sink over without, in turns. ROUNDS (default 5) and SECONDS_EACH (default 10).
set -u
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build/release} PP=$PWD/${B:-build/release}/pipeprobe
ROUNDS=${ROUNDS:-5} SECONDS_EACH=${SECONDS_EACH:-10}
T=$(mktemp -d) || exit 1
trap 'kill $server 2>/dev/null; rm -rf "$T"' EXIT
for name in $(compgen -e PIPEPROBE_); do unset "$name"; done
mkfifo "$T/life" "$T/life2"
python3 tests/tools/push_server.py 202 "$T/log" <"$T/life" >"$T/port" & server=$!
exec 8>"$T/life"
python3 tests/tools/push_server.py silent "$T/log2" <"$T/life2" >"$T/port2" & server="$server $!"
exec 9>"$T/life2"
until [ -s "$T/port" ] && [ -s "$T/port2" ]; do sleep 0.1; done

options() {
    case $1 in
    none) ;;
    textfile) echo --metrics-textfile "$T/x.prom" ;;
    endpoint) echo --metrics 0 ;;
    push) echo --metrics-push "http://127.0.0.1:$(cat "$T/port")" ;;
    "silent-push") echo --metrics-push "http://127.0.0.1:$(cat "$T/port2")" ;;
    esac
}
scrape() { # LOG: every second while the run goes on
    local url
    for ((i = 0; i < 100; i++)); do url=$(grep -Eo 'http://[^ ]*/metrics' "$1") && break; sleep 0.1; done
    while python3 -c 'import sys, urllib.request as u; open(sys.argv[2], "wb").write(u.urlopen(sys.argv[1], timeout=5).read())' "$url" "$T/x.scrape" 2>/dev/null; do sleep 1; done
}
sinks="none textfile endpoint push silent-push"
for ((round = 0; round < ROUNDS; round++)); do
    for sink in $sinks; do
        # shellcheck disable=SC2046
        "$PP" run --synthetic n=20000,size=160x120 --workers 2 -b 32 --step-ms 2 --duration "$SECONDS_EACH" --force -o "$T/run.sqlite" --json $(options $sink) \
            >"$T/out.json" 2>"$T/err" &
        run=$!
        [ $sink = endpoint ] && { scrape "$T/err" & scraper=$!; wait $scraper; }
        wait $run
        sqlite3 :memory: "SELECT json_extract(CAST(readfile('$T/out.json') AS TEXT), '\$.samples_per_s')" >>"$T/rate.$sink"
        case $sink in
        textfile) body=$T/x.prom ;; endpoint) body=$T/x.scrape ;; push) body=$T/log.body ;; *) body= ;;
        esac
        [ -n "$body" ] && awk '/^pipeprobe_sender_cpu/ { print $2 }' "$body" >>"$T/cpu.$sink"
        [ -n "$body" ] && grep -vc '^#' "$body" >"$T/series.$sink" && wc -c <"$body" >"$T/bytes.$sink"
    done
done
median() { sort -g "$1" 2>/dev/null | awk '{ v[NR] = $1 } END { if (NR) print v[int((NR + 1) / 2)]; else print "-" }'; }
base=$(median "$T/rate.none")
printf '%-12s %10s %8s %8s %14s %10s\n' sink samples/s ratio series "bytes a text" "CPU s/min"
for sink in $sinks; do
    rate=$(median "$T/rate.$sink")
    printf '%-12s %10.0f %8.4f %8s %14s %10s\n' $sink "$rate" "$(awk "BEGIN { print $rate / $base }")" "$(median "$T/series.$sink")" "$(median "$T/bytes.$sink")" \
        "$(median "$T/cpu.$sink" | awk -v s="$SECONDS_EACH" '{ print $1 == "-" ? "-" : sprintf("%.3f", $1 * 60 / s) }')"
done
