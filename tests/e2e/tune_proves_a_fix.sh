#!/bin/bash
# pipeprobe tune: an unmodified job is run with other DataLoader arguments, and what they gain stands beside the prediction. The samples sleep, so
# that what else runs on the CPUs decides little. PYTHON names the interpreter.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
PYTHON=${PYTHON:-/usr/bin/python3}
JOB=$PWD/tests/jobs/sleeps.py
HOOKS=$PWD/$BUILD/python/attach

# Refusals start nothing.
cd "$T" || exit 1
refuses "without a terminal it needs --yes" 2 "give --yes" "$PP" tune -o "$T/no" -- sh -c "touch $T/started"
refuses "no job" 2 "write the job after --" "$PP" tune --yes
refuses "a job before --" 2 "after --" "$PP" tune --yes python3 -- train.py
refuses "a program that is not there" 2 "program not found" "$PP" tune --yes -- "$T/nothing"
refuses "a change that there is not" 2 "tune sets num_workers" "$PP" tune --yes --try threads=3 -- sh -c "touch $T/started"
refuses "a value that there is not" 2 "pin_memory is True or False" "$PP" tune --yes --try pin=3 -- sh -c "touch $T/started"
refuses "a Python that ignores the hooks" 2 "-I, -E and -S make Python ignore the hooks; leave them out" "$PP" tune --yes -- "$PYTHON" -I "$JOB"
RANK=0 WORLD_SIZE=2 refuses "a rank" 2 "several ranks" "$PP" tune --yes -- sh -c "touch $T/started"
mkdir "$T/there"
refuses "a directory that exists" 2 "new directory" "$PP" tune --yes -o "$T/there" -- sh -c "touch $T/started"
refuses "a directory that has no place" 2 "no such place" "$PP" tune --yes -o "$T/absent/new" -- sh -c "touch $T/started"
run timeout 60 "$PYTHON" -c '
import os, pty, sys
pid, fd = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], [sys.argv[1], "tune", "-o", sys.argv[2], "--", "touch", sys.argv[3]])
said = b""
while b"[y/N]" not in said:
    said += os.read(fd, 4096)
os.write(fd, b"n\n")
try:
    while True:
        said += os.read(fd, 4096) or 1 // 0
except (OSError, ZeroDivisionError):
    pass
print(os.WEXITSTATUS(os.waitpid(pid, 0)[1]), said.decode())' "$PP" "$T/asked" "$T/started"
like "on a terminal it asks, and says before what it will start" "$(tr -s '\r\n ' ' ' <"$OUT")" "^130 .*starts this job several times.*touch .*SIGINT.*checkpoints.*Start\? \[y/N\] n .*nothing was started"
check "nothing was started, nothing was made" test ! -e "$T/started" -a ! -e "$T/no" -a ! -e "$T/asked"

if [ ! -e "$HOOKS/_pipeprobe.abi3.so" ]; then skip "a job is tuned" "the extension is not built: no Python.h"; done_testing; fi
if ! imports "$PYTHON" torch; then skip "a job is tuned" "$PYTHON has no torch"; done_testing; fi
note_of() { sql "$1" "SELECT value FROM meta WHERE section = 'tune' AND key = '$2'"; }
loader_of() { sql "$1" "SELECT group_concat(substr(value, instr(value, 'num_workers='), 13), ' ') FROM (SELECT * FROM meta WHERE section = 'loader' AND value LIKE '%$2%' ORDER BY key)"; }

# One worker that sleeps: more of them are predicted, tried and better.
run timeout 300 "$PP" tune --yes -o "$T/more" -d 5s --proof-duration 3s -- "$PYTHON" "$JOB" --workers 1 --sample-ms 20 --step-ms 40
cp "$OUT" "$T/text"
is "too few workers: exit code" "$rc" 0
like "it says before what it starts" "$(cat "$ERR")" "starts this job several times"
like "and which loader is meant" "$(cat "$ERR")" "^loader +__main__.Slow of 100000 samples, shuffled, batch_size=4, num_workers=1$"
like "and what it is going to prove" "$(cat "$ERR")" "^to prove +num_workers=[2-8], predicted (\+[0-9]+ %|[0-9.]+ times)"
gain='(\+[0-9]+ % \([+-][0-9]+ to \+[0-9]+ %\)|[0-9.]+ times \([0-9.]+ to [0-9.]+\))'
like "measured stands beside predicted" "$(cat "$T/text")" "^  num_workers=[2-8]: measured $gain, predicted $gain"
like "the line to paste" "$(cat "$T/text")" "^Paste: +DataLoader\(\.\.\., num_workers=[2-8]"
is "the output of the job is kept, and is its own" "$(grep -h '^workers' "$T"/more/01*.log "$T"/more/0?-baseline.log | sort -u)" "workers 1 prefetch 2"
changed=$(ls "$T"/more/02-num_workers-*.sqlite)
like "the change is in the recording" "$(note_of "$changed" override) $(note_of "$changed" num_workers)" "^num_workers=[2-8] changed$"
is "the job saw it" "$(sed -n 's/^workers \([0-9]*\) .*/\1/p' "${changed%.sqlite}.log")" "$(note_of "$changed" override | cut -d= -f2)"
is "the baseline has no change" "$(note_of "$T/more/01-baseline.sqlite" override)" ""
like "the proof is in the baseline's recording" "$(sql "$T/more/01-baseline.sqlite" "SELECT kind, change, value, rounds FROM proof")" "^fix\|num_workers\|[2-8]\|1$"
holds "it was predicted" "$(sql "$T/more/01-baseline.sqlite" "SELECT max(predicted_samples_per_s / base_samples_per_s) FROM proof") > 1.3"
holds "and measured" "$(sql "$T/more/01-baseline.sqlite" "SELECT max(measured_samples_per_s / base_samples_per_s) FROM proof") > 1.3"
for f in "$T"/more/*.sqlite; do is "$(basename "$f"): it lasted as long as it was to" "$(sql "$f" "SELECT value FROM meta WHERE section = 'run' AND key = 'outcome'")" finished; is "$(basename "$f") is whole" "$(sql "$f" 'PRAGMA integrity_check') $(note_of "$f" ended)" "ok after the time asked for"; done
is "nothing else is there" "$(find "$T/more" -type f ! -name '*.sqlite' ! -name '*.log' | wc -l)" 0
run timeout 60 "$PP" report "$T/more/01-baseline.sqlite"
like "the report shows it" "$(cat "$OUT")" "^Proved: +num_workers -> [2-8]: predicted"

# Two loaders, a job that ignores SIGINT: the loader that gives most batches is changed, the other is not. JSON.
run timeout 300 "$PP" tune --yes -q --json -o "$T/two" -d 2s --proof-duration 2s --grace 1s --try workers=2,prefetch=3 -- "$PYTHON" "$JOB" --workers 1 --samples 64 --validate --ignore
is "two loaders: exit code" "$rc" 0
is "JSON: the change" "$(json "$OUT" '$.candidates[0].set') $(json "$OUT" '$.schema') $(json "$OUT" '$.loader.made') of $(json "$OUT" '$.loader.loaders_made')" '{"num_workers":2,"prefetch_factor":3} pipeprobe.tune/1 2 of 2'
is "JSON: it is measured" "$(json "$OUT" '$.candidates[0].not_measured')$(json "$OUT" '$.candidates[0].not_applied')" ""
changed=$T/two/02-num_workers-2_prefetch_factor-3.sqlite
is "the training loader is changed" "$(loader_of "$changed" batch_size=4)" "num_workers=2"
is "the other loader is not" "$(loader_of "$changed" batch_size=2)" "num_workers=0"
is "SIGINT is ignored, SIGTERM is not" "$(note_of "$changed" signal) $(sql "$changed" "SELECT CAST(value AS INTEGER) FROM meta WHERE section = 'result' AND key = 'exit_status'")" "15 143"
like "the job went on meanwhile" "$(cat "$T/two/01-baseline.log")" "^validated 8"

# A stream that is sharded, and ends before the time; a loader for each epoch. One of the changes makes the job fail.
run timeout 300 "$PP" tune --yes -o "$T/ends" -d 60s --proof-duration 60s --try workers=2 --try workers=3 -- "$PYTHON" "$JOB" --workers 1 --samples 48 --epochs 2 --again --stream sharded --fail-with 3
is "a job that ends by itself: exit code" "$rc" 0
is "it is measured as far as it went" "$(note_of "$T/ends/02-num_workers-2.sqlite" ended)" "by itself"
is "every loader made with the same arguments is changed" "$(loader_of "$T/ends/02-num_workers-2.sqlite" batch_size=4)" "num_workers=2"
like "of the change that makes it fail its last words are given" "$(cat "$OUT")" "num_workers=3: predicted .*, not measured: the job failed with exit status 1: no room for 3 workers"
like "and at once" "$(cat "$ERR")" "^failed +03-num_workers-3: the job failed"
like "both epochs were finished" "$(tr '\n' ' ' <"$T/ends/02-num_workers-2.log")" "epoch 0 epoch 1"

# One that is not sharded gives every sample once per worker: its workers stay.
run timeout 300 "$PP" tune --yes -o "$T/plain" -d 60s --try workers=2 --try in_order=0 -- "$PYTHON" "$JOB" --workers 1 --samples 48 --epochs 2 --stream plain
is "a stream that is not sharded: exit code" "$rc" 4
like "it is said" "$(cat "$ERR")" "^left out +num_workers=2: .*get_worker_info"
is "nothing is started for it" "$(ls "$T/plain")" "01-baseline.log
01-baseline.sqlite"

# The other arguments, in a real PyTorch: workers that stay, and pinning where there is no GPU; the order of batches in one that has the argument.
row_of() { sql "$1" "SELECT value FROM meta WHERE section = 'loader' ORDER BY key LIMIT 1"; }
run timeout 200 "$PP" tune --yes -q -o "$T/stay" -d 3s --proof-duration 3s --try persistent=1 --try pin=1 -- "$PYTHON" "$JOB" --workers 2 --samples 48
like "persistent_workers=True: the job's loader has it" "$(row_of "$(ls "$T"/stay/0?-persistent_workers-1.sqlite)")" " persistent_workers=1 .* epochs=([2-9]|[0-9]{2})"
is "and its workers stay" "$(sql "$(ls "$T"/stay/0?-persistent_workers-1.sqlite)" "SELECT count(*) FROM thread WHERE lane = 'worker'") $(sql "$(ls "$T"/stay/0?-persistent_workers-1.sqlite)" "SELECT count(DISTINCT epoch) > 1 FROM v_span WHERE phase = 'collate'")" "2 1"
like "pin_memory=True without a GPU is left out, and why" "$(cat "$OUT" "$ERR")" "pin_memory=True.*there is no CUDA device"
run timeout 200 "$PP" tune --yes -q --md -o "$T/md" -d 2s --proof-duration 2s --try workers=2 -- "$PYTHON" "$JOB" --workers 1 --sample-ms 20 --step-ms 40
like "Markdown" "$(cat "$OUT")" '^\| `num_workers=2` \| [0-9.,]+ \| .* \| .* \|$'
newest=$OLDPWD/build/venvs/torch/bin/python
[ -x "$newest" ] || newest=$OLDPWD/build/venvs/newest/bin/python
if [ ! -x "$newest" ]; then skip "in_order=False in a real PyTorch" "no environment of PyPI: tests/newest_torch.sh makes it"
else
    run timeout 200 "$PP" tune --yes -q --json -o "$T/order" -d 3s --proof-duration 3s --try in_order=0 -- "$newest" "$JOB" --workers 2 --sample-ms 2 --long-ms 60 --step-ms 2
    is "in_order=False: exit code" "$rc" 0
    like "in_order=False: the job's loader has it" "$(row_of "$(ls "$T"/order/0?-in_order-0.sqlite)")" " in_order=0 "
    is "in_order=False: it is measured" "$(json "$OUT" '$.candidates[0].set') $(json "$OUT" '$.candidates[0].not_measured')$(json "$OUT" '$.candidates[0].not_applied')" '{"in_order":false} '
fi

# One of two loaders, which the report is not about: what is asked for is measured, and nothing predicted.
run timeout 300 "$PP" tune --yes -q -o "$T/other" -d 2s --proof-duration 2s --grace 1s --loader-number 1 --try workers=2,pin=1 -- "$PYTHON" "$JOB" --workers 1 --samples 64 --validate
is "another loader: exit code" "$rc" 0
like "another loader: it is the one that is meant" "$(cat "$OUT")" "^Loader: .*batch_size=2, num_workers=0 \(made first of 2\)"
like "another loader: nothing is predicted of it" "$(cat "$OUT")" "^  num_workers=2: measured .*, predicted not known;"
like "what could not be applied is said" "$(cat "$OUT")" "^    not applied: pin_memory: there is no CUDA device"
is "and not pasted" "$(grep -c 'Paste.*pin_memory' "$OUT")" 0
is "another loader: it is changed, and the training loader is not" "$(loader_of "$T/other/02-num_workers-2_pin_memory-1.sqlite" batch_size=2) $(loader_of "$T/other/02-num_workers-2_pin_memory-1.sqlite" batch_size=4)" "num_workers=2 num_workers=1"
run timeout 100 "$PP" tune --yes -q -o "$T/alone" -d 2s --grace 1s --loader-number 1 -- "$PYTHON" "$JOB" --workers 1 --samples 64 --validate
like "and without a change of its own there is nothing to prove" "$rc $(cat "$OUT")" "^Nothing to prove: the predictions are about the DataLoader that the job waits for"

# Ctrl-C when something has been measured: it is printed. A hangup that nohup has us ignore is none.
(trap '' HUP; exec "$PP" tune --yes -o "$T/part" -d 2s --proof-duration 2s --try workers=2 --try workers=3 -- "$PYTHON" "$JOB" --workers 1 --sample-ms 20) >"$OUT" 2>"$ERR" &
pid=$!
for _ in $(seq 900); do grep -q '^running *03' "$ERR" && break; kill -HUP $pid; sleep 0.1; done
kill -INT $pid
wait $pid
is "Ctrl-C in a later run: exit code" "$?" 130
like "Ctrl-C in a later run: what was measured is printed" "$(cat "$OUT")" "^  num_workers=2: measured "
like "Ctrl-C in a later run: and what was not" "$(cat "$OUT")" "^  num_workers=3: predicted .*, not measured: interrupted"

if "$PYTHON" -c 'import torch.distributed as d; assert d.is_available() and d.is_gloo_available()' 2>/dev/null; then
    refuses "a job of ranks is ended at once" 4 "the job has several ranks" timeout 100 "$PP" tune --yes -q -o "$T/ranks" -- \
        "$PYTHON" -m torch.distributed.run -r 1 -t 1 --master_port 29577 --nproc_per_node 2 "$OLDPWD/tests/jobs/ranks.py" --samples 100000
    is "with all of its processes" "$(pgrep -f "jobs/ranks.py --samples 100000")" ""
else
    skip "a job of ranks is ended at once" "$PYTHON has no torch with gloo"
fi

refuses "a job that fails as it is" 4 "failed with exit status 3: not today" "$PP" tune --yes -q -o "$T/fail" -- sh -c 'echo not today; exit 3'
refuses "a job without a DataLoader" 4 "no DataLoader of the job was seen" "$PP" tune --yes -q -o "$T/none" -- "$PYTHON" -c 'print(7)'

# Ctrl-C, and a kill of tune itself: the job goes with it.
cp "$JOB" "$T/job.py"
for signal in INT KILL; do
    "$PP" tune --yes -q -o "$T/$signal" -- "$PYTHON" "$T/job.py" --workers 1 >"$OUT" 2>"$ERR" &
    pid=$!
    for _ in $(seq 600); do grep -qs '^workers' "$T/$signal/01-baseline.log" && break; sleep 0.1; done
    kill -$signal $pid
    wait $pid 2>/dev/null
    is "SIG$signal: exit code" "$?" "$([ $signal = INT ] && echo 130 || echo 137)"
    for _ in $(seq 300); do [ -e "$T/$signal/01-baseline.sqlite.rings" ] || break; sleep 0.1; done
    is "SIG$signal: the recording is finished" "$(sql "$T/$signal/01-baseline.sqlite" 'PRAGMA integrity_check') $(sql "$T/$signal/01-baseline.sqlite" "SELECT value FROM meta WHERE section = 'run' AND key = 'outcome'")" "ok interrupted"
    for _ in $(seq 300); do pgrep -f "$T/job.py" >/dev/null || break; sleep 0.1; done # a worker looks after its parent every 5 s
    is "SIG$signal: no process is left" "$(pgrep -fa "$T/job.py")" ""
done
done_testing
