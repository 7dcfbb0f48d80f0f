#!/bin/bash
# Debian's promtool and Prometheus take what pipeprobe writes: the lint of the text, the alert rules, and each query of the Grafana dashboard
# on a run imported with its times. Skipped by name where they are not installed.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe


BOARD=samples/grafana/pipeprobe.json RULES=samples/prometheus/alerts.yml
R=$T/run.sqlite
"$PP" run --synthetic n=400,size=160x120 --workers 2 -b 8 --step-ms 5 --duration 6 -o "$R" >"$T/run.out" 2>&1
[ -s "$R" ] || { fail "a run is recorded" <"$T/run.out"; done_testing; }

# ---- the dashboard itself
check "the dashboard is JSON" json_valid "$BOARD"
board() { sqlite3 :memory: "SELECT $1 FROM json_each(CAST(readfile('$BOARD') AS TEXT), '\$.panels') p${2:-}"; }
targets=", json_each(p.value, '\$.targets') t"
is "no id, no data source of somebody's own" "$(json "$BOARD" '$.id')$(board "count(*)" "$targets WHERE json_extract(t.value, '\$.datasource.uid') != '\${DS}'")" 0
is "panels keep to 24 columns" "$(board "count(*)" " WHERE json_extract(p.value, '\$.gridPos.x') + json_extract(p.value, '\$.gridPos.w') > 24")" 0
queries() { board "json_extract(t.value, '\$.expr')" "$targets"; }
run "$PP" metrics "$R"
sed -En 's/^# TYPE ([a-z_]+) .*/\1/p' "$OUT" >"$T/there"
cut -d '`' -f 2 docs/reference/metrics.md | grep '^pipeprobe_' >"$T/known"
grep -Eoh 'pipeprobe_[a-z_]+' "$BOARD" "$RULES" | sed -E 's/_(bucket|sum|count)$//' | sort -u >"$T/asked"
is "dashboard and rules ask for metrics that there are" "$(grep -vxFf "$T/known" "$T/asked" | tr '\n' ' ')" ""
is "the page lists every metric of the text" "$(grep -vxFf "$T/known" "$T/there" | tr '\n' ' ')" ""

if ! command -v promtool >/dev/null; then
    skip "promtool's lint, rules, queries" "promtool is not installed (package prometheus)"
    done_testing
fi
"$PP" metrics "$R" | promtool check metrics >"$T/lint" 2>&1
is "promtool check metrics has nothing to say" "$? $(cat "$T/lint")" "0 "
run promtool check rules "$RULES"
is "promtool check rules" "$rc" 0
run "$PP" export "$R" --to openmetrics
run promtool tsdb create-blocks-from openmetrics "$T/run.om" "$T/tsdb"
is "the history is imported" "$rc" 0

# ---- a server on it
if ! command -v prometheus >/dev/null; then
    skip "each query of the dashboard" "prometheus is not installed"
    done_testing
fi
echo '{}' >"$T/prometheus.yml"
port=
for try in 1 2 3; do
    port=$((20000 + RANDOM % 20000))
    prometheus --config.file="$T/prometheus.yml" --storage.tsdb.path="$T/tsdb" --storage.tsdb.retention.time=100y \
        --web.listen-address=127.0.0.1:$port >"$T/server.log" 2>&1 &
    server=$!
    for ((i = 0; i < 300; i++)); do
        (exec 3<>/dev/tcp/127.0.0.1/$port) 2>/dev/null && break
        kill -0 $server 2>/dev/null || break
        sleep 0.1
    done
    kill -0 $server 2>/dev/null && break
done
cleanup() { kill "$server" 2>/dev/null; wait "$server" 2>/dev/null; rm -rf "$T"; }
at=$(awk '/^pipeprobe_batches_total/ { t = $NF } END { print t }' "$T/run.om")
asked=0 answered=0 wrong=
while IFS= read -r query; do
    plain=${query//'$__rate_interval'/1m}
    plain=${plain//'$job'/.*}
    plain=${plain//'$rank'/.*}
    asked=$((asked + 1))
    if ! promtool query instant --time="$at" "http://127.0.0.1:$port" "$plain" >"$T/answer" 2>"$T/why"; then
        wrong="$wrong $plain: $(head -n 1 "$T/why");"
    elif [ -s "$T/answer" ]; then
        answered=$((answered + 1))
    fi
done < <(queries)
is "every query is one" "$wrong" ""
# Of a made run without a GPU, DCGM or a Pushgateway some have no answer.
holds "most of them have an answer" "$answered >= 12 && $asked >= 20"
is "the counter ends where the text does" "$(promtool query instant --time="$at" "http://127.0.0.1:$port" pipeprobe_batches_total | awk '{ print $3 }')" \
    "$("$PP" metrics "$R" | awk '/^pipeprobe_batches_total/ { print $2 }')"
done_testing
