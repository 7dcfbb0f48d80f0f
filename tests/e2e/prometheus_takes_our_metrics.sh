#!/bin/bash
# Debian's promtool and Prometheus take what pipeprobe writes: the lint of the text, the alert rules, and each query of the Grafana dashboard
# on a run imported with its times; its Pushgateway and node_exporter take it, too. Those that tests/deps.sh unpacked, or that are installed; each on a port of
# its own. Skipped by name where they are not there.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
PATH=$PATH:$(realpath -m "${VENVS:-build/venvs}")/servers/usr/bin
BOARD=samples/grafana/pipeprobe.json RULES=samples/prometheus/alerts.yml
R=$T/run.sqlite
"$PP" run --synthetic n=400,size=160x120 --workers 2 -b 8 --step-ms 5 --duration 6 -o "$R" >"$T/run.out" 2>&1
[ -s "$R" ] || { fail "a run is recorded" <"$T/run.out"; done_testing; }

# ---- the dashboard itself
check "the dashboard is JSON" json_valid "$BOARD"
board() { sqlite3 :memory: "SELECT $1 FROM json_each(CAST(readfile('$BOARD') AS TEXT), '\$.panels') p${2:-}"; }
targets=", json_each(p.value, '\$.targets') t"
is "no id, no data source of one installation" "$(json "$BOARD" '$.id')$(board "count(*)" "$targets WHERE json_extract(t.value, '\$.datasource.uid') != '\${DS}'")" 0
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

# ---- every alert fires where it should, and none where all is well
cat >"$T/alerts.yml" <<RULES
rule_files: [$PWD/$RULES]
evaluation_interval: 1m
tests:
  - interval: 1m
    input_series:
      - {series: 'pipeprobe_data_wait_ratio{job="a",instance="n",rank="0"}', values: '0.5x30'}
      - {series: 'pipeprobe_data_wait_ratio{job="a",instance="n",rank="1"}', values: '0.05x30'}
      - {series: 'pipeprobe_data_wait_ratio{job="a",instance="n",rank="2"}', values: '0.05x30'}
      - {series: 'pipeprobe_trainer_stalled_seconds{job="a",instance="n",rank="0"}', values: '90x30'}
      - {series: 'pipeprobe_worker_hung_seconds{job="a",instance="n",rank="0"}', values: '90x30'}
      - {series: 'pipeprobe_errors_total{job="a",instance="n",rank="0",kind="decode"}', values: '0+1x30'}
      - {series: 'pipeprobe_spans_lost_total{job="a",instance="n",rank="0",what="ring_full"}', values: '0+1x30'}
      - {series: 'pipeprobe_last_second_timestamp_seconds{job="a",instance="n",rank="0"}', values: '0x30'}
    promql_expr_test:
      - expr: count by (alertname) (ALERTS{alertstate="firing"})
        eval_time: 20m
        exp_samples:
$(sed -n 's/.*- alert: //p' "$RULES" | sed "s/.*/          - {labels: '{alertname=\"&\"}', value: 1}/")
  - interval: 1m
    input_series:
      - {series: 'pipeprobe_data_wait_ratio{job="a",instance="n",rank="0"}', values: '0.05x30'}
      - {series: 'pipeprobe_data_wait_ratio{job="a",instance="n",rank="1"}', values: '0.04x30'}
      - {series: 'pipeprobe_trainer_stalled_seconds{job="a",instance="n",rank="0"}', values: '0x30'}
      - {series: 'pipeprobe_worker_hung_seconds{job="a",instance="n",rank="0"}', values: '0x30'}
      - {series: 'pipeprobe_errors_total{job="a",instance="n",rank="0",kind="decode"}', values: '3x30'}
      - {series: 'pipeprobe_spans_lost_total{job="a",instance="n",rank="0",what="ring_full"}', values: '0x30'}
      - {series: 'pipeprobe_last_second_timestamp_seconds{job="a",instance="n",rank="0"}', values: '0x30'}
      - {series: 'pipeprobe_run_end_timestamp_seconds{job="a",instance="n",rank="0"}', values: '0x30'}
    promql_expr_test:
      - {expr: ALERTS, eval_time: 20m, exp_samples: []}
RULES
run promtool test rules "$T/alerts.yml"
is "each alert fires where it should, none where all is well" "$rc" 0
run "$PP" export "$R" --to openmetrics
run promtool tsdb create-blocks-from openmetrics "$T/run.om" "$T/tsdb"
is "the history is imported" "$rc" 0

# ---- servers
servers=
# shellcheck disable=SC2086
cleanup() { kill $servers 2>/dev/null; wait $servers 2>/dev/null; rm -rf "$T"; }
serve() { # LOG PROGRAM OPTIONS...: behind them a port of our choice; sets port
    local log=$1 try i
    shift
    for try in 1 2 3; do
        port=$((20000 + RANDOM % 20000))
        "$@" --web.listen-address=127.0.0.1:$port >"$log" 2>&1 &
        servers="$servers $!"
        for ((i = 0; i < 300; i++)); do
            (exec 3<>/dev/tcp/127.0.0.1/$port) 2>/dev/null && return
            kill -0 $! 2>/dev/null || break
            sleep 0.1
        done
    done
    return 1
}
fetch() { python3 -c 'import sys, urllib.request as u; print(u.urlopen(sys.argv[1], timeout=20).read().decode())' "http://127.0.0.1:$port/metrics"; }

if ! command -v prometheus-pushgateway >/dev/null; then
    skip "the Pushgateway takes and keeps what is pushed" "prometheus-pushgateway is not installed"
elif ! "$PP" doctor --only 'metrics push' | grep -q ^yes; then
    skip "the Pushgateway takes and keeps what is pushed" "no libcurl"
elif ! serve "$T/gateway.log" prometheus-pushgateway; then
    fail "the Pushgateway starts" <"$T/gateway.log"
else
    run timeout 60 "$PP" metrics "$R" --metrics-interval 1s --metrics-push "http://127.0.0.1:$port" --metrics-label job=trained --metrics-label instance=here
    is "pushed to a Pushgateway, nothing to say" "$rc $(cat "$ERR")" "0 "
    fetch >"$T/kept"
    is "it keeps the sum in our group" "$(awk '/^pipeprobe_batches_total\{/ { print $1, $2 }' "$T/kept")" \
        "pipeprobe_batches_total{instance=\"here\",job=\"trained\"} $("$PP" metrics "$R" | awk '/^pipeprobe_batches_total/ { print $2 }')"
fi

mkdir "$T/files"
"$PP" export "$R" --to prometheus -q -o "$T/files/run.prom"
if ! command -v prometheus-node-exporter >/dev/null; then
    skip "node_exporter reads the file" "prometheus-node-exporter is not installed"
elif ! serve "$T/node.log" prometheus-node-exporter --collector.disable-defaults --collector.textfile --collector.textfile.directory="$T/files"; then
    fail "node_exporter starts" <"$T/node.log"
else
    fetch >"$T/node"
    is "node_exporter reads the file" "$(grep -E '^(pipeprobe_batches_total|node_textfile_scrape_error) ' "$T/node" | sort | tr '\n' ' ')" \
        "node_textfile_scrape_error 0 $(grep '^pipeprobe_batches_total ' "$T/files/run.prom") "
fi

if ! command -v prometheus >/dev/null; then
    skip "each query of the dashboard" "prometheus is not installed"
    done_testing
fi
echo '{}' >"$T/prometheus.yml"
serve "$T/server.log" prometheus --config.file="$T/prometheus.yml" --storage.tsdb.path="$T/tsdb" --storage.tsdb.retention.time=100y ||
    { fail "Prometheus starts" <"$T/server.log"; done_testing; }
at=$(awk '/^pipeprobe_batches_total/ { t = $NF } END { print t }' "$T/run.om")
asked=0 answered=0 wrong=
while IFS= read -r query; do
    plain=${query//'$__rate_interval'/1m}
    plain=${plain//'$job'/.*}
    plain=${plain//'$rank'/.*}
    asked=$((asked + 1))
    if ! promtool query instant --time="$at" "http://127.0.0.1:$port" "$plain" >"$T/answer" 2>"$T/why"; then
        wrong="$wrong $plain: $(head -n 1 "$T/why");"
    elif grep -q . "$T/answer"; then # without one it is an empty line
        answered=$((answered + 1))
    fi
    printf '%s => %s series%s\n' "$query" "$(grep -c . "$T/answer")" "$(awk 'NF > 1 { printf ", %s", $(NF - 1) }' "$T/answer")" | note
done < <(queries)
is "every query is one" "$wrong" ""
# Of a made run without a GPU, DCGM or a Pushgateway some have no answer.
holds "most of them have an answer" "$answered >= 12 && $asked >= 20"
is "the counter ends where the text does" "$(promtool query instant --time="$at" "http://127.0.0.1:$port" pipeprobe_batches_total | awk '{ print $3 }')" \
    "$("$PP" metrics "$R" | awk '/^pipeprobe_batches_total/ { print $2 }')"
done_testing
