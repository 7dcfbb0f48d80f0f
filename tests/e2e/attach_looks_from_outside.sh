#!/bin/bash
# idle
# pipeprobe attach: a running job and its workers as /proc shows them, a hint, and the command that would tell more. The job is left alone.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
PYTHON=${PYTHON:-/usr/bin/python3}
command -v "$PYTHON" >/dev/null || skip_all "$PYTHON is not there"
pids=()
cleanup() { for p in "${pids[@]}"; do kill -9 "$p" 2>/dev/null; done; rm -rf "$T"; }
cat >"$T/job.py" <<'P'
"""Workers of multiprocessing, as torch starts them; ends when the file FILE.go is there."""
import multiprocessing, os, sys, time

def work(file):
    open(file, "w").close()
    while not os.path.exists(sys.argv[2] + ".go") and os.getppid() != 1:
        time.sleep(0.02)

if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[1])
    workers = [context.Process(target=work, args=("%s.%d" % (sys.argv[2], i),)) for i in range(2)]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
    print("done")
P
# begin METHOD NAME ARGUMENTS...: $job is its process, once its workers run.
begin() {
    local method=$1 name=$2
    shift 2
    "$PYTHON" "$T/job.py" "$method" "$T/$name" "$@" >"$T/$name.out" 2>&1 &
    job=$!
    pids+=("$job")
    for _ in $(seq 1200); do [ -e "$T/$name.0" ] && [ -e "$T/$name.1" ] && return; sleep 0.05; done
}

for method in fork spawn forkserver; do
    begin $method $method 'two words' $'\e[31mred'
    run timeout 60 "$PP" attach "$job" --duration 2s
    is "$method: exit code, and nothing on standard error" "$rc $(cat "$ERR")" "0 "
    is "$method: the job and its two workers" "$(awk '$1 == "job" || $1 == "worker" {print $1, $1 == "worker" ? $2 : ""}' "$OUT" | tr '\n' ,)" "job ,worker 0,worker 1,"
    is "$method: the job's process" "$(awk '$1 == "job" {print $2}' "$OUT")" "$job"
    check "$method: the workers' processes are others" test "$(awk '$1 == "worker" {print $3}' "$OUT" | sort -u | grep -cvx "$job")" -eq 2
    like "$method: each has CPU, run delay, bytes and states" "$(grep '^worker 0' "$OUT")" "^worker 0 +[0-9]+ +[0-9]+ % +[0-9]+ % +[0-9.]+ [KMG]?i?B +[0-9.]+ [KMG]?i?B  [RSD] [0-9]+ %"
    like "$method: a hint" "$(cat "$OUT")" "^Hint: +Workers "
    like "$method: and what is not known" "$(tr -s '\n ' ' ' <"$OUT")" "Not known: How long the training waits for data"
    is "$method: the command that would tell" "$(tail -n 1 "$OUT")" "    pipeprobe exec -- $PYTHON $T/job.py $method $T/$method 'two words' '\\x1b[31mred'"
    is "$method: no control character" "$(LC_ALL=C grep -c $'\e' "$OUT")" 0
    check "$method: no verdict" bash -c "! grep -qi 'bound' '$OUT'"
    : >"$T/$method.go"
    wait "$job"
    is "$method: the job is left alone" "$? $(cat "$T/$method.out")" "0 done"
done

# The GPU, where there is NVML; here the stand-in. Else it is among what is not known.
begin fork gpu
run timeout 60 env LD_LIBRARY_PATH="$PWD/$BUILD/tests/fake" "$PP" attach "$job" --duration 2s
like "NVML: the GPU's idle time" "$(tr -s '\n ' ' ' <"$OUT")" "GPU: idle [0-9]+ % of the time, running kernels [0-9]+ % .NVML, the machine's first GPU, all its programs.; [0-9.]+ [KMG]iB of its memory are in use"
run timeout 60 "$PP" attach "$job" --duration 1s
if grep -q '^GPU:' "$OUT"; then skip "no NVML" "it is installed here"
else like "no NVML: said" "$(tr -s '\n ' ' ' <"$OUT")" "Whether a GPU idles: NVML"; fi
: >"$T/gpu.go"
wait "$job"
is "NVML: the job is left alone" "$? $(cat "$T/gpu.out")" "0 done"

# It ends with the job, and with a signal.
looks() { # until it looks: it has a handler for SIGINT
    for _ in $(seq 1200); do
        [ "$(cat "/proc/$attach/comm")" = pipeprobe ] && grep -q '^SigCgt:.*[2367abef]$' "/proc/$attach/status" && return
        sleep 0.05
    done
}
begin fork ends
"$PP" attach "$job" >"$OUT" 2>"$ERR" &
attach=$!
looks
: >"$T/ends.go"
wait $attach
is "the job ends: exit code" "$?" 0
like "the job ends: said" "$(head -n 1 "$OUT")" "process $job, watched from outside for .*; it has ended"
begin fork stopped
"$PP" attach "$job" >"$OUT" 2>"$ERR" &
attach=$!
looks
kill -TERM $attach
wait $attach
is "a signal ends it: exit code" "$?" 0
like "a signal ends it: the table is there" "$(cat "$OUT")" "^worker 1"
check "and the job goes on" kill -0 "$job"

# Bad input.
refuses "no process id" 2 "give the process id of a running job" "$PP" attach
refuses "two of them" 2 "give the process id" "$PP" attach 1 2
refuses "what is no number" 2 "train.py is not a process id" "$PP" attach train.py
refuses "a negative number" 2 "." "$PP" attach -- -5
refuses "no such process" 2 "there is no process 99999999 here" "$PP" attach 99999999
refuses "not a Python" 2 "process $$ is bash and not a Python interpreter; process [0-9]+, which it started, is one" "$PP" attach $$
sleep 600 &
pids+=($!)
refuses "not a Python, nor anything below it" 2 "is sleep and not a Python interpreter$" "$PP" attach $!
"$PYTHON" -c "import os, time
if os.fork() == 0: os._exit(0)
open('$T/zombie', 'w').close()
time.sleep(600)" &
pids+=($!)
for _ in $(seq 600); do [ -e "$T/zombie" ] && zombie=$(cat "/proc/$!/task/$!/children" 2>/dev/null) && grep -q '^State:.*Z' "/proc/${zombie% }/status" && break; sleep 0.05; done
if [ -n "${zombie:-}" ]; then refuses "one that has ended" 4 "process ${zombie% } has ended; its parent, process $!, has not yet" "$PP" attach "${zombie% }"
else skip "one that has ended" "the kernel does not list children"; fi
chmod 755 "$T" && cp "$PP" "$T/pipeprobe"
if [ "$(id -u)" -eq 0 ] && setpriv --reuid 65534 --regid 65534 --clear-groups "$T/pipeprobe" help >/dev/null 2>&1; then
    refuses "somebody else's" 4 "process $job belongs to user 0; run pipeprobe attach as that user or as root" setpriv --reuid 65534 --regid 65534 --clear-groups "$T/pipeprobe" attach "$job"
else skip "somebody else's" "cannot become another user here"; fi
: >"$T/stopped.go"
done_testing
