#!/bin/bash
# idle
# MLflow: parameters, metrics and the report of a run on a tracking server; what such a server can answer is a sentence, and the run goes on. The server here is
# tests/tools/mlflow_server.py; the real one is make test-mlflow.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
"$PP" doctor --only 'metrics push' | grep -q ^yes || skip_all "no libcurl"
command -v python3 >/dev/null || skip_all "python3 is not installed"
for name in $(compgen -e MLFLOW_) SSL_CERT_FILE CURL_CA_BUNDLE http_proxy https_proxy; do unset "$name"; done
small=(--synthetic n=200,size=64x64 --workers 1 -b 4 --force --step-ms 5)
R=$T/run.sqlite

refuses "a store in a file" 2 "'sqlite:///mlflow.db' is no URL of an MLflow tracking server" "$PP" run "${small[@]}" --steps 3 -o "$T/x.sqlite" --mlflow sqlite:///mlflow.db
refuses "the environment names no server" 2 'MLFLOW_TRACKING_URI is not set' "$PP" run "${small[@]}" --steps 3 -o "$T/x.sqlite" --mlflow env
check "nothing was recorded" test ! -e "$T/x.sqlite"

mkfifo "$T/life"
mkdir "$T/log"
python3 tests/tools/mlflow_server.py "$T/log" <>"$T/life" >"$T/port" 2>"$T/server.err" &
server=$!
cleanup() { kill $server 2>/dev/null; wait $server 2>/dev/null; rm -rf "$T"; }
for ((i = 0; i < 600; i++)); do [ -s "$T/port" ] && break; sleep 0.1; done
url=http://127.0.0.1:$(cat "$T/port")
took() { # NAME QUERY: of the requests as the table t(row)
    sqlite3 -batch -noheader :memory: "CREATE TABLE t AS SELECT value AS row FROM json_each('[' || replace(rtrim(CAST(readfile('$T/log/$1') AS TEXT), char(10)), char(10), ',') || ']')" "$2"
}

# ---- a run of its own
MLFLOW_TRACKING_TOKEN=s3cr3t MLFLOW_EXPERIMENT_NAME='loaders & more' run "$PP" run "${small[@]}" --steps 40 -o "$R" --mlflow "$url/own" --metrics-interval 1s --metrics-label job=train
is "exit code of the run" "$((rc == 0 || rc == 3))" 1
check "nothing is said" bash -c "! grep -Ei 'lost|mlflow' '$ERR'"
is "the experiment is looked for, and made" "$(took own "SELECT json_extract(row, '\$.path') FROM t LIMIT 2" | tr '\n' ' ')" "mlflow/experiments/get-by-name?experiment_name=loaders%20%26%20more mlflow/experiments/create "
is "the run is made in it" "$(took own "SELECT json_extract(row, '\$.body.experiment_id'), json_extract(row, '\$.body.run_name') FROM t WHERE json_extract(row, '\$.path') = 'mlflow/runs/create'")" "7|train"
is "parameters: once" "$(took own "SELECT count(*) FROM t WHERE json_extract(row, '\$.body.params') IS NOT NULL")" 1
is "parameters: how the run was made" "$(took own "SELECT json_extract(p.value, '\$.value') FROM t, json_each(row, '\$.body.params') p WHERE json_extract(p.value, '\$.key') = 'pipeprobe.batch_size'")" 4
is "metrics: every batch of them of this run, within MLflow's names" "$(took own "SELECT count(*) > 0, sum(json_extract(p.value, '\$.key') GLOB '*[^a-z0-9_/.-]*'), count(DISTINCT json_extract(row, '\$.body.run_id'))
    FROM t, json_each(row, '\$.body.metrics') p")" "1|0|1"
is "metrics: the step is the number of batches" "$(took own "SELECT max(json_extract(p.value, '\$.step')) FROM t, json_each(row, '\$.body.metrics') p")" "$("$PP" metrics "$R" | awk '/^pipeprobe_batches_total/ { print $2 }')"
like "the verdict is a tag" "$(took own "SELECT json_extract(row, '\$.body.tags[0].key') FROM t WHERE json_extract(row, '\$.body.tags') IS NOT NULL ORDER BY rowid DESC LIMIT 1")" '^pipeprobe.verdict$'
is "the report is an artifact" "$(took own "SELECT json_extract(row, '\$.path') FROM t WHERE json_extract(row, '\$.method') = 'PUT'")" \
    "mlflow-artifacts/artifacts/7/0123456789abcdef0123456789abcdef/artifacts/pipeprobe/report.html"
"$PP" report "$R" --format html -o "$T/report.html" >/dev/null 2>&1
check "that of 'pipeprobe report'" cmp "$T/log/own.put" "$T/report.html"
is "the last request ends the run" "$(took own "SELECT json_extract(row, '\$.path'), json_extract(row, '\$.body.status') FROM t ORDER BY rowid DESC LIMIT 1")" "mlflow/runs/update|FINISHED"
is "each with the token" "$(took own "SELECT DISTINCT json_extract(row, '\$.authorization') FROM t")" "Bearer s3cr3t"
check "which is nowhere else" bash -c "! grep -qa s3cr3t '$R' '$OUT' '$ERR' '$T/log/own.put'"

# ---- into a run that is there, as the environment says
run env MLFLOW_TRACKING_URI="$url/given/" MLFLOW_RUN_ID=abc MLFLOW_TRACKING_USERNAME=me MLFLOW_TRACKING_PASSWORD=s3cr3t "$PP" exec -o "$T/e.sqlite" --mlflow env -- bash -c 'exit 7'
is "exec: the program's exit code" "$rc" 7
is "the run is asked for, and not ended" "$(took given "SELECT sum(json_extract(row, '\$.path') = 'mlflow/runs/get?run_id=abc'), sum(json_extract(row, '\$.path') IN ('mlflow/runs/create', 'mlflow/runs/update')) FROM t")" "1|0"
is "user and password" "$(took given "SELECT DISTINCT json_extract(row, '\$.authorization') FROM t")" "Basic $(printf me:s3cr3t | base64)"
run env MLFLOW_TRACKING_URI="$url/unasked" "$PP" exec -o "$T/u.sqlite" -- true
check "a job's own variables alone send nothing" test ! -e "$T/log/unasked"

# ---- what a server answers to a recording that is complete: a sentence each, side by side
modes() {
    cat <<'MODES'
401|answered 401: it wants credentials; put them into MLFLOW_TRACKING_TOKEN
404|answered 404: it has no such run, experiment or path
413|answered 413: it finds the body too large
429|answered 429: it wants to be asked less often
500|answered 500: its own trouble
silent|(failed: it )?did not answer
page|does not answer as MLflow does
evil|does not answer as MLflow does
files|keeps artifacts where only a client can write
params|answered 400: not what such a server answers \(Changing param values is not allowed\)
MODES
}
pids=
while IFS='|' read -r mode words; do
    timeout 60 "$PP" metrics "$R" --metrics-interval 1s --mlflow "$url/$mode" >"$T/$mode.out" 2>&1 &
    pids="$pids $!"
done < <(modes)
# shellcheck disable=SC2086
wait $pids
while IFS='|' read -r mode words; do
    like "$mode: the losses at the end" "$(tail -n 1 "$T/$mode.out")" "^pipeprobe metrics: --mlflow: [0-9]+ of [0-9]+ texts were lost: (sending to )?$url/$mode $words"
    holds "$mode: no more than two sentences" "$(wc -l <"$T/$mode.out") <= 2"
done < <(modes)
is "params: the metrics are there all the same" "$(took params "SELECT count(*) > 0 FROM t WHERE json_extract(row, '\$.body.metrics') IS NOT NULL")" 1
is "files: and the run is ended" "$(took files "SELECT json_extract(row, '\$.path') FROM t ORDER BY rowid DESC LIMIT 1")" mlflow/runs/update
is "evil: nothing was asked of its paths" "$(took evil "SELECT count(*) FROM t WHERE json_extract(row, '\$.path') LIKE '%delete%' OR json_extract(row, '\$.path') LIKE '%etc%'")" 0
MLFLOW_TRACKING_TOKEN=s3cr3t run timeout 60 "$PP" metrics "$R" --metrics-interval 1s --mlflow "$url/words"
check "a server that repeats the token is not quoted" bash -c "grep -q 'answered 400' '$ERR' && ! grep -q s3cr3t '$ERR'"
run "$PP" run "${small[@]}" --steps 10 -o "$T/n.sqlite" --mlflow http://me:s3cr3t@no.such.host.invalid
like "no such host: the run goes on" "$rc $(grep -F no.such "$ERR")" '^[03] .*http://no.such.host.invalid failed: its host name cannot be resolved'
check "the password is nowhere" bash -c "! grep -qa s3cr3t '$T/n.sqlite' '$OUT' '$ERR'"
skip "the real MLflow server" "1 GB from PyPI: make test-mlflow"
done_testing
