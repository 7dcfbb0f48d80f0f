#!/bin/bash
# pipeprobe exec of a Python job whose workers are forked anew for every epoch: lanes, epochs, start-up, and what was told about the job.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
python=${PYTHON:-/usr/bin/python3}
command -v "$python" >/dev/null || skip_all "$python is not there"
case $BUILD in *address*|*thread*) skip_all "a sanitizer's library cannot be loaded into Python" ;; esac
export PYTHONPATH=$PWD/samples/python PIPEPROBE_LIB=$PWD/$BUILD/libpipeprobe.so.0
JOB=tests/tools/recorded_job.py

for name in python worker; do
    A=$T/$name.sqlite
    run timeout 120 "$PP" exec -w 2 -b 4 -o "$A" -- "$python" $JOB 3 1.5 $name
    is "$name: it runs" "$rc" 0
    like "$name: what was recorded is said" "$(cat "$ERR")" "spans of 7 threads( in [0-9]+ process(es)?)? recorded in $A"
    run timeout 60 "$PP" report --json "$A"
    is "$name: two lanes with names" "$(json "$OUT" '$.workers[0].name'), $(json "$OUT" '$.workers[1].name'), $(json "$OUT" '$.workers[2].name')" "worker 0, worker 1, "
    holds "$name: a worker that works all the time is busy" "$(json "$OUT" '$.workers[0].busy_share') > 0.5"
    is "$name: three epochs" "$(json "$OUT" '$.epochs')" 3
    is "$name: level of the wait" "$(json "$OUT" '$.verdict.l0')" input-bound
    like "$name: decode is what is waited for" "$(json "$OUT" '$.verdict.sentence')" "decode"
    finding() { sqlite3 :memory: "SELECT json_extract(value, '$.$2') FROM json_each(CAST(readfile('$OUT') AS TEXT), '$.findings') WHERE json_extract(value, '$.kind') = '$1'"; }
    is "$name: the workers of each epoch are others, although they share lanes" "$(finding worker-restarts numbers.generations), $(finding worker-restarts numbers.started_again)" "3, 4"
    like "$name: and it is said" "$(finding worker-restarts sentence)" "4 workers were started again in 3 epochs"
    first=$(sqlite3 :memory: "SELECT json_extract(value, '$.sentence') FROM json_each(CAST(readfile('$OUT') AS TEXT), '$.findings') WHERE json_extract(value, '$.kind') = 'first-batch'")
    like "$name: imports are not the first batch" "$first" "before the program asked for data"
    run timeout 60 "$PP" top --once --json "$A"
    is "$name: two lanes in the dashboard" "$(for i in 0 1 2; do json "$OUT" "\$.workers[$i].name"; done | sort | xargs)" "worker 0 worker 1"
    run timeout 60 "$PP" export "$A" --to csv -o "$T/$name.csv"
    is "$name: an export keeps every process" "$(grep ',worker,' "$T/$name.csv" | cut -d , -f 3 | sort -u | wc -l)" 6
done
is "what was told is stored as run stores it" "$(sql "$A" "SELECT group_concat(key || '=' || CAST(value AS INTEGER)) FROM (SELECT * FROM meta WHERE section = 'config' AND key IN ('workers', 'batch_size', 'prefetch') ORDER BY key)")" "batch_size=4,workers=2"
run timeout 60 "$PP" whatif "$A"
is "whatif predicts from it" "$rc" 0
like "whatif knows the workers" "$(cat "$OUT")" "workers"
check "nothing but the recording is left" test "$(find "$T" -maxdepth 1 -name '*.rings' | wc -l)" -eq 0

# What the workers compute is the run's own CPU time, not that of others.
cat >"$T/busy.py" <<'EOT'
import multiprocessing, time
import pipeprobe_record as pp
run = pp.Recorder()
def work():
    with run.thread("worker", "worker-0").span("decode"):
        until = time.process_time() + 2
        while time.process_time() < until: pass
    time.sleep(1.5)
w = multiprocessing.get_context("fork").Process(target=work)
w.start()
w.join()
EOT
run timeout 120 "$PP" exec -q -o "$T/busy.sqlite" -- "$python" "$T/busy.py"
holds "workers' CPU time is the run's" "$(sql "$T/busy.sqlite" "SELECT max(value) / 1e9 FROM counter WHERE name = 'process_cpu_ns_total'") > 1.9"
# The last look is made when the job has ended, and what it used since the look before is not known.
looks() { sql "$T/busy.sqlite" "SELECT count(*) FROM counter WHERE name = '$1'"; }
holds "a job that has ended has no CPU time of its own" "$(looks machine_cpu_user_ns_total) == $(looks process_cpu_ns_total) + 1"

# Without exec: a run of its own.
cat >"$T/own.py" <<'EOT'
import sys
import pipeprobe_record as pp
run = pp.Recorder(sys.argv[1], replace=True)
trainer = run.thread("trainer", "trainer")
for b in range(20):
    with trainer.span("data_wait", batch=b):
        pass
    trainer.lap_start()
    trainer.lap("step", batch=b)
try:
    with trainer.span("read"):
        raise ValueError
except ValueError:
    pass
trainer.retire()
sys.exit(run.error or run.close())
EOT
PIPEPROBE_COLLECTOR=$PP run timeout 60 "$python" "$T/own.py" "$T/own.sqlite"
is "a run of its own: it ends well" "$rc $(cat "$ERR")" "0 "
is "a run of its own: spans and laps" "$(sql "$T/own.sqlite" "SELECT count(*) FROM v_span WHERE phase IN ('data_wait', 'step')")" 40
is "a run of its own: an exception is an error of its span" "$(sql "$T/own.sqlite" "SELECT count(*) FROM v_span WHERE phase = 'read' AND flags & 1")" 1
PIPEPROBE_LIB=$T/gone.so run timeout 60 "$python" -c "import pipeprobe_record as pp
run = pp.Recorder('$T/no/such/dir.sqlite')
with run.thread('trainer', 'trainer').span('step'): pass
print(run.error)"
is "a recording that cannot begin disturbs nothing" "$rc" 0
like "and says why" "$(cat "$OUT")" "cannot record into $T/no/such/dir.sqlite"

# A Python program that annotates nothing.
run timeout 60 "$PP" exec -o "$T/plain.sqlite" -- "$python" -c pass
like "no ranges: the one next step" "$(cat "$ERR")" "did not import torch.utils.data and made no NVTX range"
check "no ranges: no advice that exec does not take" bash -c "! grep -q -- '--duration' '$ERR'"
check "no ranges: no file stays" test ! -e "$T/plain.sqlite"
done_testing
