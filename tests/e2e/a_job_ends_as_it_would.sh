#!/bin/bash
# Ctrl-C in the terminal of a recorded PyTorch job, and a collector that is killed in the middle of it: the job has the signals and the exit status that it
# would have, and what it had taken until then is in the recording.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
PYTHON=${PYTHON:-/usr/bin/python3} JOB=$PWD/tests/jobs/counted.py R=$T/run.sqlite
pids=()
cleanup() { for p in "${pids[@]}"; do kill -9 "$p" 2>/dev/null; done; rm -rf "$T"; }
[ -e "$BUILD/python/attach/_pipeprobe.abi3.so" ] || skip_all "the extension is not built: no Python.h"
imports "$PYTHON" torch || skip_all "$PYTHON has no torch"

# In a terminal of its own: ^C once the job has had 30 batches. Prints what was on the terminal and the exit status.
cat >"$T/terminal.py" <<'P'
import os, pty, sys
pid, fd = pty.fork()
if pid == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
said, sent = b"", False
while True:
    try:
        more = os.read(fd, 4096)
    except OSError:
        break
    if not more:
        break
    said += more
    if not sent and b"batch 30" in said:
        os.write(fd, b"\x03")
        sent = True
print(said.decode().replace("\r\n", "\n"))
status = os.waitpid(pid, 0)[1]
print("status", os.WEXITSTATUS(status) if os.WIFEXITED(status) else -os.WTERMSIG(status))
P
in_terminal() { run timeout 120 "$PYTHON" "$T/terminal.py" "$@"; }
batches() { grep -c '^batch' "$OUT"; }
said() { grep -oE 'interrupted|status -?[0-9]+|signals [0-9]+|[A-Za-z]+Error' "$OUT"; } # the terminal echoes ^C anywhere
taken() { sql "$R" "SELECT count(*) FROM v_span WHERE phase = 'data_wait' AND flags & 1 = 0"; }
for handler in default counts ignores dies; do
    enough=(--batches $([ $handler = ignores ] && echo 60 || echo 100000))
    in_terminal "$PYTHON" "$JOB" --handler $handler "${enough[@]}"
    plain=$(said)
    in_terminal "$PP" exec -q -f -o "$R" -- "$PYTHON" "$JOB" --handler $handler "${enough[@]}"
    is "^C, a job that $handler: signals and exit status" "$(said)" "$plain"
    is "^C, a job that $handler: the recording is whole" "$(sql "$R" 'PRAGMA integrity_check')" ok
    holds "^C, a job that $handler: each batch it had is there" "$(taken) - $(batches) >= 0 && $(taken) - $(batches) <= 1"
    is "^C, a job that $handler: no batch is there twice" "$(sql "$R" "SELECT count(*) - count(DISTINCT batch) FROM v_span WHERE phase = 'data_wait' AND flags & 1 = 0")" 0
    is "^C, a job that $handler: nothing is left" "$(find "$T" -name '*.rings'; pgrep -f "$JOB")" ""
done

# What does not ask the job to end is no interruption: SIGUSR1 that it handles (a dump of stacks, SLURM's warning), and a hangup under nohup.
for signal in USR1 HUP; do
    (trap '' HUP; exec "$PP" exec -q -f -o "$R" -- "$PYTHON" -c '
import signal, time
import torch.utils.data
list(torch.utils.data.DataLoader([1, 2, 3])) # so that a recording stays
came = []
signal.signal(signal.SIGUSR1, lambda *_: came.append(1))
print("ready", flush=True)
end = time.monotonic() + 2
while time.monotonic() < end and not came:
    time.sleep(0.05)
print("done", flush=True)') >"$OUT" 2>"$ERR" &
    pid=$!
    for _ in $(seq 600); do grep -q ready "$OUT" && break; sleep 0.05; done
    kill -$signal $pid
    wait $pid
    is "SIG$signal: the job goes on to its end" "$? $(tail -n 1 "$OUT")" "0 done"
    is "SIG$signal: and has finished" "$(sql "$R" "SELECT value FROM meta WHERE section = 'run' AND key = 'outcome'")" finished
done

# Ctrl-C again and again, also when the job has ended and its file is finished.
"$PP" exec -f -o "$R" -- "$PYTHON" "$JOB" >"$OUT" 2>"$ERR" &
pid=$!
for _ in $(seq 1200); do grep -q '^batch 60$' "$OUT" && break; sleep 0.05; done
while kill -TERM $pid 2>/dev/null; do sleep 0.01; done
wait $pid
is "SIGTERM until exec has ended: the status is the job's" "$?" 143
is "SIGTERM until exec has ended: the file is whole" "$(sql "$R" 'PRAGMA integrity_check') $(sql "$R" "SELECT value FROM meta WHERE section = 'run' AND key = 'outcome'") $(find "$T" -name '*.rings')" "ok interrupted "

# The collector is killed; the job goes on to its end.
"$PYTHON" "$JOB" --batches 200 >"$T/plain.out" 2>"$T/plain.err"
"$PP" exec -q -f -o "$R" -- "$PYTHON" "$JOB" --batches 200 >"$OUT" 2>"$ERR" &
collector=$!
pids+=("$collector")
for _ in $(seq 1200); do grep -q '^batch 60$' "$OUT" && break; sleep 0.05; done
job=$(pgrep -P "$collector" -f "$JOB")
pids+=("$job")
kill -9 "$collector"
wait "$collector" 2>/dev/null
for _ in $(seq 1200); do kill -0 "$job" 2>/dev/null || break; sleep 0.05; done
is "the collector is killed: the job's output" "$(sed 's/waited.*took [0-9.]*//' "$OUT")" "$(sed 's/waited.*took [0-9.]*//' "$T/plain.out")"
is "the collector is killed: nothing on standard error" "$(cat "$ERR")" ""
for _ in $(seq 200); do pgrep -f "$JOB" >/dev/null || break; sleep 0.05; done
run timeout 60 "$PP" report --json "$R"
like "the collector is killed: the report" "$(json "$OUT" '$.outcome') $(json "$OUT" '$.batches')" "^unfinished 200$"
is "the collector is killed: batches of the workers, each once" "$(sql "$R" "SELECT count(DISTINCT batch) >= 200 AND count(DISTINCT batch) = count(*) FROM v_span WHERE phase = 'collate'")" 1
is "the collector is killed: which samples were used is there" "$(sql "$R" "SELECT sum(samples) >= 800 FROM sample_order")" 1
is "the collector is killed: and who recorded" "$(sql "$R" "SELECT count(*) >= 1 FROM meta WHERE section = 'process' AND value LIKE '%counted.py%'")" 1
is "the collector is killed: nothing is left" "$(find "$T" -name '*.rings')" ""
done_testing
