#!/bin/bash
# idle
# pipeprobe metrics: text, file, endpoint and Pushgateway of a recording; what a server or a directory can do wrong is a sentence, and the
# run goes on. Nothing asks how long anything took.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
MAKE_RUN=$BUILD/tests/tools/make_run
need_built helpers "$MAKE_RUN"
R=$T/run.sqlite
"$MAKE_RUN" "$R" --batches 50 --lossy || exit 1
"$PP" run --synthetic n=200,size=64x64 --workers 1 -b 4 --step-ms 5 --duration 3 -o "$T/tb.sqlite" >"$T/tb.out" 2>&1 & # needed later
tb=$!
has() { grep -Eq -- "$2" "$1"; }
small=(--synthetic n=200,size=64x64 --workers 1 -b 4 --force --step-ms 5)

# ---- once
run "$PP" metrics "$R"
is "metrics FILE: exit code" "$rc" 0
check "a counter, a verdict, the loss" has "$OUT" '^pipeprobe_batches_total 50$'
check "the verdict" has "$OUT" '^pipeprobe_verdict\{class="[a-z-]+",cause="[a-z-]+"\} 1$'
check "what the recording lacks" has "$OUT" '^pipeprobe_spans_lost_total\{what="ring_full"\} [0-9]+$'
cp "$OUT" "$T/once"
run "$PP" export "$R" --to prometheus
is "export --to prometheus: exit code" "$rc" 0
check "the same text" cmp "$T/once" "$T/run.prom"
run "$PP" export "$R" --to prometheus
is "an existing file is not replaced" "$rc" 2
run "$PP" export "$R" -o "$T/history.om"
is "openmetrics: exit code, by suffix" "$rc" 0
is "openmetrics begins as it should" "$(head -c 2 "$T/history.om")" "# "
is "openmetrics ends as it should" "$(tail -n 1 "$T/history.om")" "# EOF"
refuses "no recording" 2 'no recording given' "$PP" metrics
refuses "not a recording" 4 'once is neither a recording' "$PP" metrics "$T/once"

# ---- TensorBoard's event file
wait $tb
run "$PP" export "$T/tb.sqlite" --to tensorboard -o "$T/logs"
is "tensorboard: exit code" "$rc" 0
is "an event file in the directory" "$(cd "$T/logs" && echo * | sed -E 's/[0-9]{10}/N/')" "events.out.tfevents.N.pipeprobe.0.0"
run "$PP" export "$T/tb.sqlite" --to tensorboard -o "$T/logs"
is "a second export does not replace it" "$rc" 2
refuses "tensorboard to standard output" 2 'needs a directory' "$PP" export "$R" --to tensorboard -o -
# TensorBoard's own reader, without its server; kept in build/venvs/tensorboard. TENSORBOARD_PYTHON names an interpreter that has it.
venv=${VENVS:-$PWD/build/venvs}/tensorboard
if [ -z "${TENSORBOARD_PYTHON:-}" ] && [ ! -e "$venv/complete" ] &&
    ! { timeout 120 python3 -m pip --python /usr/bin/python3 install -q --retries 0 --no-deps --target "$venv" tensorboard==2.21.0 protobuf absl-py packaging six && touch "$venv/complete"; } >"$T/pip" 2>&1; then
    rm -rf "$venv"
fi
tensorboard() { PYTHONPATH=$venv "${TENSORBOARD_PYTHON:-/usr/bin/python3}" "$@"; } # that directory is not there when another one has the package
READER='from tensorboard.backend.event_processing.event_accumulator import EventAccumulator'
if tensorboard -c "$READER" 2>"$T/why"; then
    tensorboard - "$T/logs" >"$T/scalars" 2>/dev/null <<'PY'
import sys
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
a = EventAccumulator(sys.argv[1]).Reload()
e = a.Scalars("pipeprobe/samples_per_s")
print(len(e) > 1, all(x.step <= y.step and x.wall_time < y.wall_time for x, y in zip(e, e[1:])), e[-1].value > 0, "pipeprobe/data_wait_ratio" in a.Tags()["scalars"])
PY
    is "TensorBoard reads it" "$(cat "$T/scalars")" "True True True True"
else
    skip "TensorBoard reads it" "no Python package tensorboard: $(cat "$T/pip" "$T/why" 2>/dev/null | tail -n 1 | cut -c1-100)"
fi

"$PP" run "${small[@]}" --steps 40 -o "$T/live.sqlite" --tensorboard "$T/live" --metrics-interval 1s >"$T/live.out" 2>&1
rc=$?
is "tensorboard, while a run goes on: exit code of the run" "$((rc == 0 || rc == 3))" 1
is "one event file" "$(cd "$T/live" && echo * | sed -E 's/[0-9]{10}/N/; s/\.[0-9]+\.pipeprobe/.PID.pipeprobe/')" "events.out.tfevents.N.$(hostname).PID.pipeprobe"
run "$PP" run "${small[@]}" --steps 10 --ranks 2 -o "$T/rb.sqlite" --tensorboard "$T/ranks"
is "of two ranks two runs" "$(cd "$T/ranks" && echo */events.out.* | sed -E 's/events[^ ]*/E/g')" "rank0000/E rank0001/E"
run "$PP" run "${small[@]}" --steps 10 -o "$T/nb.sqlite" --tensorboard /proc/no/such
like "no directory can be made: the run goes on" "$rc $(grep -F /proc/no "$ERR")" '^[03] .*no --tensorboard: cannot make the directory /proc/no/such'
refuses "a file is no directory" 2 'is no directory' "$PP" metrics "$R" --tensorboard "$R"
if tensorboard -c "$READER" 2>/dev/null; then
    is "TensorBoard reads the live one" "$(tensorboard -c 'import sys
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
e = EventAccumulator(sys.argv[1]).Reload().Scalars("pipeprobe/data_wait_ratio")
print(len(e) > 0, e[-1].step >= 40)' "$T/live" 2>/dev/null)" "True True"
else
    skip "TensorBoard reads the live one" "no Python package tensorboard"
fi

# ---- what cannot be: usage, before anything runs
refuses "a port that is none" 2 'write PORT or ADDRESS:PORT' "$PP" metrics "$R" --metrics here
refuses "a name that node_exporter does not read" 2 'must end in .prom' "$PP" run "${small[@]}" -o "$T/x.sqlite" --metrics-textfile "$T/x.txt"
refuses "a URL that is none" 2 "write the Pushgateway's URL" "$PP" metrics "$R" --metrics-push ftp://user:secret@host
check "without its password" bash -c "! grep -q secret '$ERR'"
refuses "a label of pipeprobe's own" 2 'the label phase is one of' "$PP" metrics "$R" --metrics 0 --metrics-label phase=x
refuses "metrics of no recording" 2 'leave out --no-record' "$PP" run --synthetic n=200,size=64x64 --steps 3 --no-record --metrics 0
check "nothing was recorded" test ! -e "$T/x.sqlite"
run "$PP" exec --metrics nowhere -- true
is "exec: a wrong option starts nothing" "$rc" 125

# ---- the file
mkdir "$T/textfiles"
run "$PP" run "${small[@]}" --steps 40 -o "$T/a.sqlite" --metrics-textfile "$T/textfiles/a.prom" --metrics-label job=train
is "run with a file: exit code of the run" "$((rc == 0 || rc == 3))" 1
check "counts all batches" has "$T/textfiles/a.prom" '^pipeprobe_batches_total\{job="train"\} 4[0-9]$'
check "says when it ended" has "$T/textfiles/a.prom" '^pipeprobe_run_end_timestamp_seconds'
is "and nothing else is there" "$(ls "$T/textfiles")" a.prom
run "$PP" exec -o "$T/e.sqlite" --metrics-textfile "$T/textfiles/e.prom" -- bash -c 'exit 7'
is "exec with a file: the program's exit code" "$rc" 7
check "of a program without spans too" has "$T/textfiles/e.prom" '^pipeprobe_run_info'
run "$PP" run "${small[@]}" --steps 20 -o "$T/b.sqlite" --metrics-textfile "$T/missing/b.prom"
is "no such directory: the run goes on" "$((rc == 0 || rc == 3))" 1
like "and it is said once" "$(grep -c missing/b.prom "$ERR") $(grep missing/b.prom "$ERR")" '^1 .*texts were lost: .*missing/b.prom'
run "$PP" run "${small[@]}" --steps 20 --ranks 2 -o "$T/r.sqlite" --metrics-textfile "$T/textfiles/r.prom"
is "ranks have files of their own" "$(cd "$T/textfiles" && echo r*.prom)" "r-rank0000.prom r-rank0001.prom"
check "with the rank as a label" has "$T/textfiles/r-rank0001.prom" '^pipeprobe_samples_total\{rank="1"\}'

# ---- the endpoint
if ! "$PP" doctor --only 'metrics endpoint' | grep -q ^yes || ! command -v python3 >/dev/null; then
    skip "the endpoint" "no libmicrohttpd, or no python3"
else
    get() { python3 -c 'import sys, urllib.request as u; print(u.urlopen(u.Request(sys.argv[1], headers={"Accept": sys.argv[2]}), timeout=20).read().decode(), end="")' "$1" "${2:-*/*}"; }
    served() { # LOG: the URL that it says, once it is there
        local i
        for ((i = 0; i < 300; i++)); do
            grep -Eo 'http://[^ ]*/metrics' "$1" 2>/dev/null && return
            sleep 0.1
        done
        return 1
    }
    "$PP" run "${small[@]}" --duration 120 -o "$T/c.sqlite" --metrics 0 --metrics-interval 1s >"$T/c.out" 2>"$T/c.err" &
    pid=$!
    url=$(served "$T/c.err")
    like "run says where" "$url" '^http://127\.0\.0\.1:[0-9]+/metrics$'
    total() { get "$url" | awk '/^pipeprobe_batches_total/ { print $2 }'; }
    first= second=
    for ((i = 0; i < 200 && ${first:-0} < 1; i++)); do first=$(total); first=${first%.*}; sleep 0.1; done
    for ((i = 0; i < 200 && ${second:-0} <= ${first:-0}; i++)); do second=$(total); second=${second%.*}; sleep 0.1; done
    holds "scraped twice, the counter grew" "${second:-0} > ${first:-0} && ${first:-0} > 0"
    get "$url" 'application/openmetrics-text; version=1.0.0' >"$T/om"
    is "OpenMetrics when asked for" "$(tail -n 1 "$T/om")" "# EOF"
    port=${url##*:} port=${port%/metrics}
    run "$PP" run "${small[@]}" --steps 10 -o "$T/d.sqlite" --metrics "$port"
    is "a port that is taken: the run goes on" "$((rc == 0 || rc == 3))" 1
    like "and it is said" "$(grep -c "port $port" "$ERR") $(grep "port $port" "$ERR")" "^1 .*port $port of 127.0.0.1 is taken by another program"
    run "$PP" run "${small[@]}" --steps 10 -o "$T/d.sqlite" --metrics no.such.host.invalid:9400
    like "a name that is not resolved" "$rc $(grep -F no.such "$ERR")" '^[03] .*no.such.host.invalid cannot be resolved'
    kill -INT $pid
    wait $pid
    is "an interrupted run ends as ever" $? 130
    check "and its endpoint with it" bash -c "! exec 3<>/dev/tcp/127.0.0.1/$port" 2>/dev/null
    run timeout 60 "$PP" top "$T/a.sqlite" --once --metrics 0
    like "top serves too, and shows its frame" "$rc $(wc -l <"$OUT") $(cat "$ERR")" '^0 [0-9]{2} pipeprobe top: metrics at http://127.0.0.1:[0-9]+/metrics$'
    timeout 60 "$PP" metrics "$T/a.sqlite" --metrics 0 2>"$T/m.err"
    like "a complete recording is not served on" "$? $(cat "$T/m.err")" '^0 .*http://'
fi

# ---- the Pushgateway
if ! "$PP" doctor --only 'metrics push' | grep -q ^yes || ! command -v python3 >/dev/null; then
    skip "the Pushgateway" "no libcurl, or no python3"
    done_testing
fi
start_server() { # MODE: prints the port; the server ends with $T/life-MODE
    mkfifo "$T/life-$1"
    python3 tests/tools/push_server.py "$1" "$T/log-$1" <>"$T/life-$1" >"$T/port-$1" 2>/dev/null &
    servers="$servers $!"
}
port_of() {
    local i
    for ((i = 0; i < 300; i++)); do [ -s "$T/port-$1" ] && break; sleep 0.1; done
    cat "$T/port-$1"
}
servers=
# shellcheck disable=SC2086
cleanup() { kill $servers 2>/dev/null; wait $servers 2>/dev/null; rm -rf "$T"; }
while IFS='|' read -r mode words; do start_server "$mode"; done <<'MODES'
202
401
413
429
500
404
redirect
silent
endless
lying
garbage
reset
MODES
port=$(port_of 202)
export PIPEPROBE_METRICS_PUSH=http://me:s3cr3t@127.0.0.1:$port
run "$PP" run "${small[@]}" --steps 40 -o "$T/p.sqlite" --metrics-label job=a/b --metrics-label instance=here
unset PIPEPROBE_METRICS_PUSH
is "pushed: the run's exit code" "$((rc == 0 || rc == 3))" 1
check "by PUT, into its group, with the password" has "$T/log-202" '^PUT /metrics/job/a%2Fb/instance/here authorized [0-9]+$'
check "the last text has the end of the run" has "$T/log-202.body" '^pipeprobe_run_end_timestamp_seconds'
check "nothing is said of it" bash -c "! grep -Ei 'lost|push' '$ERR'"
check "the password is nowhere: output" bash -c "! grep -q s3cr3t '$OUT' '$ERR' '$T/log-202.body'"
run "$PP" run "${small[@]}" --steps 10 -o "$T/q.sqlite" --metrics-push "http://me:s3cr3t@127.0.0.1:$port"
check "the password is nowhere: recordings" bash -c "! grep -qa s3cr3t '$T/q.sqlite' '$T/p.sqlite'"
run "$PP" run "${small[@]}" --steps 20 -o "$T/f.sqlite" --metrics-push "http://me:s3cr3t@127.0.0.1:$(port_of silent)"
like "a run goes on beside a server that says nothing" "$rc $(grep -c 127.0.0.1 "$ERR")" '^[03] 1$'

# A recording that is complete is sent at once: what each server makes of it, side by side.
modes() {
    cat <<'MODES'
401|answered 401: it wants a user and a password
413|answered 413: it finds the text too large
429|answered 429: it wants to be asked less often
500|answered 500: its own trouble
404|answered 404: it has no such path
redirect|answered 302: it redirects
silent|(failed: it )?did not answer
endless|failed: it answers without end
lying|failed: the connection was cut after
garbage|failed:
reset|failed: the connection was cut
MODES
}
while IFS='|' read -r mode words; do
    timeout 60 "$PP" metrics "$T/a.sqlite" --metrics-interval 1s --metrics-push "http://me:s3cr3t@127.0.0.1:$(port_of "$mode")" >"$T/$mode.out" 2>&1 &
    pids="${pids:-} $!"
done < <(modes)
# shellcheck disable=SC2086
wait $pids
while IFS='|' read -r mode words; do
    url="http://127.0.0.1:$(port_of "$mode")"
    like "$mode: the first loss, in a sentence" "$(head -n 1 "$T/$mode.out")" "^pipeprobe metrics: --metrics-push: ([0-9]+ of [0-9]+ texts were lost: )?(sending to )?$url $words"
    like "$mode: the losses at the end" "$(tail -n 1 "$T/$mode.out")" "^pipeprobe metrics: --metrics-push: ([0-9]+) of [0-9]+ texts were lost: (sending to )?$url $words"
    holds "$mode: no more than these two" "$(wc -l <"$T/$mode.out") <= 2"
    check "$mode: no password" bash -c "! grep -q s3cr3t '$T/$mode.out'"
done < <(modes)
run "$PP" run "${small[@]}" --steps 20 -o "$T/f.sqlite" --metrics-push http://no.such.host.invalid
like "no such host" "$rc $(grep -F no.such "$ERR")" '^[03] .*no.such.host.invalid failed: its host name cannot be resolved'
done_testing
