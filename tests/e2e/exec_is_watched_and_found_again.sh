#!/bin/bash
# The first minutes with a job: exec says where it records, needs no -- and no name, shows the dashboard meanwhile, writes the report; and the newest
# recording is what report, whatif and top are about.
. "$(dirname "$0")/../lib.sh"
. tests/tmux.sh
need_pipeprobe
PYTHON=${PYTHON:-/usr/bin/python3}
case $BUILD in *address*|*thread*) skip_all "a sanitizer's library cannot be loaded into Python" ;; esac
imports "$PYTHON" torch || skip_all "$PYTHON has no torch"
JOB="$PYTHON $PWD/tests/jobs/counted.py --batches 150 --sample-ms 2 --step-ms 2"
PP=$(realpath "$PP")
cd "$T" || exit 1

# shellcheck disable=SC2086
run timeout 100 "$PP" exec $JOB --workers 1
is "without --: the job's status, and its own --workers" "$rc $(grep -c '^batch' "$OUT")" "0 150"
name=$(ls pipeprobe-*.sqlite)
is "it says first where it records, and how to watch it" "$(head -n 1 "$ERR")" "pipeprobe exec: recording into $name; live: pipeprobe top $name"
is "workers of the job, not of exec" "$(sql "$name" "SELECT value FROM meta WHERE section = 'config' AND key = 'workers'")" 1
run "$PP" report
is "report: the newest recording here" "$rc $(head -n 1 "$OUT")" "0 $name: the job counted.py"
run "$PP" report .
like "report DIR" "$(head -n 1 "$OUT")" "$name: the job counted.py"
run env PIPEPROBE_GPU_HOUR=2.50 "$PP" report
like "what the wait costs" "$(cat "$OUT")" "Costs: +[0-9.]+ a day for each GPU, at 2.50 an hour"
run "$PP" report --json --gpu-hour 2.50
share=$(json "$OUT" '$.verdict.evidence[0].value')
holds "24 hours of the part that is waited" "$(json "$OUT" '$.wait_cost_per_day') / (0.6 * ${share% %}) > 0.99 && $(json "$OUT" '$.wait_cost_per_day') / (0.6 * ${share% %}) < 1.01"
run "$PP" metrics "$name" --gpu-hour 2.50
metric=$(sed -n 's/^pipeprobe_wait_cost_per_day{.*} //p' "$OUT")
holds "the same as a metric" "$metric / (0.6 * ${share% %}) > 0.99 && $metric / (0.6 * ${share% %}) < 1.01"
run "$PP" metrics "$name"
is "without a price there is none" "$(grep -c '^pipeprobe_wait_cost' "$OUT")" 0
run "$PP" report --gpu-hour 2.50 -o page.html
like "and on the page" "$(cat page.html)" "a day for each GPU, at 2.50 an hour"
run "$PP" whatif --json
holds "whatif: the newest" "$rc == 0 && $(json "$OUT" '$.measured_samples_per_s') > 0"
run "$PP" top --once
like "top: the newest" "$(cat "$OUT")" "counted.py"

# shellcheck disable=SC2086
run timeout 100 "$PP" exec -q -o second.sqlite --json report.json -- $JOB
is "--json: the job's status, and nothing is said" "$rc $(cat "$ERR")" "0 "
is "--json: the report" "$(json report.json '$.file')" second.sqlite
# shellcheck disable=SC2086
run timeout 100 "$PP" exec -q -o third.sqlite --json no/such/report.json -- $JOB
is "a report that cannot be written does not change the job's status" "$rc" 0
like "and is said" "$(cat "$ERR")" "the report no/such/report.json was not written"
run "$PP" exec -q --top -o no.sqlite true </dev/null
is "--top without a terminal" "$rc $(ls no.sqlite 2>&1 | grep -c 'No such')" "125 1"
run "$PP" exec -q --num_workers 2 -o no.sqlite "$PYTHON" -c 'print(7)'
is "options by PyTorch's names stand before the program" "$rc $(cat "$OUT")" "0 7"
mkdir empty && cd empty || exit 1
refuses "no recording here" 2 "none is in this directory" "$PP" report

cd "$T" || exit 1
if command -v tmux >/dev/null; then
    tm new-session -d -s top -x 100 -y 30 "$PP exec --top -o watched.sqlite -- $JOB --batches 2000; echo code \$?; sleep 60"
    wait_for "--top: the dashboard on the job" 'LIVE .*job counted.py' 60
    wait_for "--top: it has a verdict" '(BOUND|STARVED)' 60
    type q
    wait_for "--top: it ends with the job, and the report is there" '^code 0' 60
    tm kill-server
    is "--top: the job's output is in a file" "$(grep -c '^batch' watched.sqlite.out)" 2000
else
    skip "--top" "tmux is not installed"
fi
done_testing
