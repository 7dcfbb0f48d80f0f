#!/bin/bash
# idle
# pipeprobe exec --tune: a job that began with one worker, whose samples sleep, ends near the rate that its step allows; one that nothing helps stays
# as it is; --tune=advise puts everything back; exec's death in a trial is not the job's. PYTHON names the interpreter.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
PYTHON=${PYTHON:-/usr/bin/python3}
JOB=tests/jobs/live_job.py
[ -e "$BUILD/python/attach/_pipeprobe.abi3.so" ] || skip_all "the extension is not built: no Python.h"
imports "$PYTHON" torch || skip_all "$PYTHON has no torch"
changes() { sql "$1" "SELECT value FROM meta WHERE section = 'loader_change' ORDER BY key"; }

run "$PP" exec --tune=fast -o "$T/no.sqlite" -- true
like "a mode that there is not" "$rc $(cat "$ERR")" "^125 .*--tune.*'fast' is not one of keep, advise"

# 8 samples of 30 ms in one worker: 240 ms a batch; the step takes 60 ms.
run timeout 100 "$PP" exec --tune -o "$T/kept.sqlite" -- "$PYTHON" $JOB --workers 1 --sample-ms 30 --step-ms 60 --seconds 30
cp "$ERR" "$T/kept"
cp "$OUT" "$T/rates"
is "the job ends well, its order is the sampler's" "$rc $(grep -c '^order as without: True' "$T/rates")" "0 1"
like "each decision is a line" "$(cat "$T/kept")" "pipeprobe exec: loader 0 \(.*live_job.py:[0-9]+.*\): num_workers 1 -> [0-9]+: [0-9.]+ -> [0-9.]+ samples/s, \+[0-9]+ % \(\+[0-9]+ to \+[0-9]+ %\), kept at batch [0-9]+"
first=$(sed -n 's/^rates \([0-9.]*\) .*/\1/p' "$T/rates") last=$(sed -n 's/^rates .* \([0-9.]*\)$/\1/p' "$T/rates")
check "it ends at 80 % of what its step allows, or better ($first to $last batches/s)" awk "BEGIN { exit !($last >= 0.8 * 1000 / 60) }"
check "within three decisions" test "$(changes "$T/kept.sqlite" | grep -cE 'why=(kept|undone)')" -le 3
like "the changes are in the recording" "$(changes "$T/kept.sqlite")" "at_ns=[0-9]+ loader=[0-9]+\.0 batch=[0-9]+ num_workers=[0-9]+ prefetch_factor=2 was=1/2 why=trial"
kept=$(sql "$T/kept.sqlite" "SELECT value FROM meta WHERE section = 'config' AND key = 'num_workers'")
check "the arguments are those that were kept ($kept)" test "${kept%.*}" -gt 1
run "$PP" report "$T/kept.sqlite"
like "the report has what was predicted beside it" "$(tr -s '\n ' ' ' <"$OUT")" "Proved: num_workers -> [0-9]+: predicted [0-9.]+, measured [0-9.]+ samples/s"
run "$PP" answer "$T/kept.sqlite"
now=$("$PYTHON" -c 'import json, sys; print(json.load(sys.stdin)["samples_per_s"]["now"])' <"$OUT")
check "the report judges the part under them alone ($now samples/s)" awk "BEGIN { exit !($now >= 0.8 * 8000 / 60) }"

# Nothing gains: the step takes longer than the batch.
run timeout 60 "$PP" exec --tune -o "$T/same.sqlite" -- "$PYTHON" $JOB --workers 2 --sample-ms 2 --step-ms 40 --seconds 12
like "a job that nothing helps is left" "$(cat "$ERR")" "pipeprobe exec: --tune changed nothing: no other num_workers or prefetch_factor was expected to gain"
is "and has no change in its recording" "$(changes "$T/same.sqlite")" ""

# Advice.
run timeout 60 "$PP" exec --tune=advise -o "$T/advise.sqlite" -- "$PYTHON" $JOB --workers 1 --sample-ms 30 --step-ms 60 --seconds 24
like "advice is put back" "$(cat "$ERR")" "num_workers 1 -> [0-9]+: .*, put back at batch"
is "and the arguments are the job's own" "$(sql "$T/advise.sqlite" "SELECT CAST(value AS INT) FROM meta WHERE section = 'config' AND key = 'num_workers'")" 1

# What is not touched, and said once: all at the same time, for they only sleep.
for kind in "--workers 0" "--workers 1 --asks" "--workers 1 --sampler"; do
    name=${kind##*[ -]}
    # shellcheck disable=SC2086
    timeout 60 "$PP" exec --tune -o "$T/$name.sqlite" -- "$PYTHON" $JOB $kind --sample-ms 30 --step-ms 60 --seconds 17 >"$T/$name.out" 2>"$T/$name.err" &
done
wait
like "a loader without workers" "$(cat "$T/0.err")" "pipeprobe exec: --tune does not touch .*live_job.py:[0-9]+.*: num_workers=0: there is no worker to add one to"
like "a data set that asks who it is" "$(cat "$T/asks.err")" "num_workers 1 -> [0-9]+: not tried: its samples may depend on their worker"
like "a sampler of the job's own" "$(cat "$T/sampler.err")" "num_workers 1 -> [0-9]+: not tried: its sampler is the job's own"
is "they go on as they are" "$(cat "$T"/{0,asks,sampler}.out | grep -c '^order as without: True')" 3
is "one rank of several" "$(RANK=0 WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=29400 "$PP" exec --tune -o "$T/rank.sqlite" -- true 2>&1 | grep -c 'of several ranks none is tuned')" 1

# exec is killed while a trial runs.
"$PP" exec --tune -q -o "$T/killed.sqlite" -- "$PYTHON" $JOB --workers 1 --sample-ms 30 --step-ms 60 --seconds 24 >"$T/killed.out" 2>&1 &
exec_pid=$!
for _ in $(seq 600); do
    grep -q trial "$T/killed.sqlite.rings/answer-tuned" 2>/dev/null && break
    sleep 0.1
done
check "a trial had begun" grep -q trial "$T/killed.sqlite.rings/answer-tuned"
kill -KILL $exec_pid
wait $exec_pid 2>/dev/null
for _ in $(seq 600); do
    grep -q '^order' "$T/killed.out" && break
    sleep 0.1
done
is "the job goes on to its end" "$(grep -c '^order as without: True' "$T/killed.out")" 1
done_testing
