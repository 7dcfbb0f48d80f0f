#!/bin/bash
# tests/mlflow.sh [VENV]: PyPI's real MLflow server: parameters, metrics and the report of a run, and the traces of a recording at its OTLP endpoint, read back
# by its own REST API. Makes VENV (build/venvs/mlflow, 1 GB) when it is not there. No part of make test: it needs PyPI. Prints TAP.
. "$(dirname "$0")/lib.sh"
need_pipeprobe
"$PP" doctor | grep -q '^yes *metrics push' || skip_all "no libcurl"
for name in $(compgen -e MLFLOW_) $(compgen -e OTEL_) http_proxy https_proxy; do unset "$name"; done
python=${PYTHON:-python3} venv=${1:-build/venvs/mlflow}
if ! [ -x "$venv/bin/mlflow" ]; then
    mkdir -p "$(dirname "$venv")"
    { "$python" -m venv "$venv" && "$venv/bin/pip" install -q mlflow; } >"$T/pip" 2>&1 || skip_all "mlflow cannot be installed from PyPI: $(tail -n 1 "$T/pip")"
fi
port=$("$python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
url=http://127.0.0.1:$port
mkdir "$T/artifacts"
# setsid: it has processes of its own
setsid "$venv/bin/mlflow" server --host 127.0.0.1 --port "$port" --workers 1 --backend-store-uri "sqlite:///$T/mlflow.db" --artifacts-destination "$T/artifacts" --serve-artifacts \
    >"$T/server" 2>&1 </dev/null &
server=$!
cleanup() { kill -- -$server 2>/dev/null; wait $server 2>/dev/null; rm -rf "$T"; }
api() { # PATH [JSON]
    "$python" -c 'import sys, urllib.request as u
r = u.Request(sys.argv[1], data=sys.argv[2].encode() if len(sys.argv) > 2 else None, headers={"Content-Type": "application/json"})
print(u.urlopen(r, timeout=60).read().decode())' "$url/$1" "${@:2}"
}
for ((i = 0; i < 1800; i++)); do
    api health >/dev/null 2>&1 && break
    kill -0 $server 2>/dev/null || break
    sleep 0.1
done
api health >/dev/null 2>&1 || { fail "the server starts" < <(tail -n 20 "$T/server"); done_testing; }
api version 2>/dev/null | sed 's/^/# MLflow /'

# A server that was just started takes many times as long for its first answers.
api api/2.0/mlflow/experiments/create '{"name": "warm"}' >"$T/warm"
api api/2.0/mlflow/runs/create "{\"experiment_id\": \"$(json "$T/warm" '$.experiment_id')\"}" >"$T/warm-run"
warm=$(json "$T/warm-run" '$.run.info.run_id')
api api/2.0/mlflow/runs/log-batch "{\"run_id\": \"$warm\", \"metrics\": [{\"key\": \"a\", \"value\": 1, \"timestamp\": 1, \"step\": 1}], \"params\": [{\"key\": \"b\", \"value\": \"c\"}]}" >"$T/warm-log"
api "api/2.0/mlflow-artifacts/artifacts?path=$(json "$T/warm" '$.experiment_id')/$warm" >"$T/warm-files" 2>&1

# ---- a run
R=$T/run.sqlite
MLFLOW_EXPERIMENT_NAME=loaders run "$PP" run --synthetic n=400,size=64x64 --workers 1 -b 4 --step-ms 5 --duration 4 -o "$R" --mlflow "$url" --metrics-interval 1s
is "exit code of the run" "$((rc == 0 || rc == 3))" 1
check "nothing was refused" bash -c "! grep -E 'answered|failed:|did not answer' '$ERR'" # a slow machine may skip one
api 'api/2.0/mlflow/experiments/get-by-name?experiment_name=loaders' >"$T/experiment"
id=$(json "$T/experiment" '$.experiment.experiment_id')
api api/2.0/mlflow/runs/search "{\"experiment_ids\": [\"$id\"]}" >"$T/runs"
value() { sqlite3 :memory: "SELECT json_extract(value, '\$.value') FROM json_each(CAST(readfile('$T/runs') AS TEXT), '\$.runs[0].data.$1') WHERE json_extract(value, '\$.key') = '$2'"; }
is "one run, which has ended" "$(sqlite3 :memory: "SELECT json_array_length(CAST(readfile('$T/runs') AS TEXT), '\$.runs')") $(json "$T/runs" '$.runs[0].info.status')" "1 FINISHED"
is "a parameter" "$(value params pipeprobe.batch_size)" 4
holds "a metric" "$(value metrics pipeprobe/samples_per_s) > 0"
check "the verdict is a tag" test -n "$(value tags pipeprobe.verdict)"
run_id=$(json "$T/runs" '$.runs[0].info.run_id')
api "api/2.0/mlflow/metrics/get-history?run_id=$run_id&metric_key=pipeprobe/data_wait_ratio" >"$T/history"
holds "with its history" "$(sqlite3 :memory: "SELECT json_array_length(CAST(readfile('$T/history') AS TEXT), '\$.metrics')") >= 2"
"$PP" report "$R" --format html -o "$T/report.html" >/dev/null 2>&1
check "the report is an artifact" cmp "$T/report.html" "$(find "$T/artifacts" -path "*$run_id*" -name report.html)"

# ---- into a run that is there
api api/2.0/mlflow/runs/create "{\"experiment_id\": \"$id\"}" >"$T/other"
other=$(json "$T/other" '$.run.info.run_id')
MLFLOW_TRACKING_URI=$url MLFLOW_RUN_ID=$other run "$PP" metrics "$R" --mlflow env --metrics-interval 1s
is "a recording into a run that is there" "$rc $(cat "$ERR")" "0 "
api "api/2.0/mlflow/runs/get?run_id=$other" >"$T/got"
is "it goes on, with the metrics" "$(json "$T/got" '$.run.info.status') $(sqlite3 :memory: "SELECT count(*) > 5 FROM json_each(CAST(readfile('$T/got') AS TEXT), '\$.run.data.metrics')")" "RUNNING 1"
MLFLOW_RUN_ID=none run timeout 60 "$PP" metrics "$R" --mlflow "$url" --metrics-interval 1s
like "a run that is not there" "$(tail -n 1 "$ERR")" "texts were lost: $url answered 404: it has no such run.*none"

# ---- traces
OTEL_EXPORTER_OTLP_HEADERS=x-mlflow-experiment-id=$id run "$PP" export "$R" -o "$url" --max-bytes 256Ki
is "traces: exit code" "$rc $(grep -v 'left out' "$ERR" | grep -vE '^[0-9,]+ spans of' )" "0 "
sent=$(sed -En 's/^[0-9,]+ spans of ([0-9,]+) batches? to .*/\1/p' "$ERR")
is "each batch is a trace of the experiment" "$(sqlite3 "$T/mlflow.db" "SELECT count(*) FROM trace_info WHERE experiment_id = $id")" "${sent//,/}"
OTEL_EXPORTER_OTLP_HEADERS=x-mlflow-experiment-id=$id run "$PP" export "$R" -o "$url" --max-bytes 256Ki
is "a second export brings no other" "$(sqlite3 "$T/mlflow.db" "SELECT count(*) FROM trace_info WHERE experiment_id = $id")" "${sent//,/}"
done_testing
