#!/bin/bash
# tests/python314.sh [--slice]: Python 3.14 and later: pipeprobe attach puts the hooks into a running job; pipeprobe exec records one; a free-threaded Python.
#
# The interpreter is $PIPEPROBE_PYTHON314, python3.14 in PATH, or Debian's of a newer suite, unpacked into $VENVS/python3.14 (60 MB). --slice is what `make test`
# runs: no torch. All of it takes Debian's with its torch into $VENVS/python3.14-torch (1.2 GB); the free-threaded one is
# $PIPEPROBE_PYTHON314T, or built from Debian's source into $VENVS/python3t (2 minutes).
# ONLY=REGEX chooses: sentences, free_threaded, the name of an attached job, leaving, tuned, exec_METHOD, newer.
where=${PIPEPROBE_PYTHON314:-} free=${PIPEPROBE_PYTHON314T:-} newer=${PIPEPROBE_PYTHON315:-}
. "$(dirname "$0")/lib.sh"
need_pipeprobe
VENVS=${VENVS:-$PWD/build/venvs} ONLY=${ONLY:-.}
slice=
[ "${1:-}" = --slice ] && slice=1
[ -e "$BUILD/python/attach/_pipeprobe.abi3.so" ] || skip_all "the extension is not built: no Python.h"
unset PYTHONDONTWRITEBYTECODE
export PYTHONPYCACHEPREFIX=$VENVS/pycache PYTHONHASHSEED=0 OMP_NUM_THREADS=1 # what is unpacked comes without compiled modules
pids=()
cleanup() { for p in "${pids[@]}"; do kill -9 "$p" 2>/dev/null; done; rm -rf "$T"; }

# ---- interpreters ----

of_debian() { # VERSION [PACKAGE]: into $where, or $why not
    local dir=$VENVS/python$1${2:+-torch} limit=90
    [ -z "${2:-}" ] || limit=600
    where=$dir/usr/bin/python$1
    [ -e "$dir/complete" ] && return
    rm -rf "$dir"
    if timeout $limit python3 tests/tools/debian_python.py "$dir" "$@" >"$T/made" 2>&1; then touch "$dir/complete"
    else why=$(tail -n 1 "$T/made" | cut -c1-150) where=; rm -rf "$dir"; fi
}
why=
[ -n "$where" ] || where=$(command -v python3.14)
[ -n "$where" ] || [ -n "$slice" ] || of_debian 3.14 python3-torch
[ -n "$where" ] || of_debian 3.14
[ -n "$where" ] || skip_all "there is no Python 3.14, and Debian's cannot be unpacked here: $why"
PYTHON=$where
check "the interpreter is Python 3.14 or later, with remote debugging" "$PYTHON" -c 'import sys; assert sys.version_info >= (3, 14) and sys.is_remote_debug_enabled()'

# ---- jobs ----

begin() { # NAME COMMAND...: $job
    local name=$1
    shift
    "$@" >"$T/$name.out" 2>"$T/$name.err" </dev/null &
    job=$!
    pids+=("$job")
}
await() { for _ in $(seq 4000); do "$@" && return; sleep 0.04; done; return 1; }
end() { kill -9 "$1" 2>/dev/null; wait "$1" 2>/dev/null; }
text() { tr -s '\n ' ' ' <"$OUT"; } # what is wrapped to lines
attach() { run timeout 100 "$PP" attach "$@"; }
is_python() { [[ $(readlink "/proc/$1/exe") == *python* ]] && grep -q python "/proc/$1/maps"; }
meta() { sql "$1" "SELECT value FROM meta WHERE section = '$2' AND key = '$3'"; }

cat >"$T/loops.py" <<'P'
import os, sys, time
open(sys.argv[1], "w").close()
while not os.path.exists(sys.argv[1] + ".go"):
    time.sleep(0.01)
print("done", sorted(n for n in os.environ if n.startswith("PIPEPROBE")), "site" in sys.modules, flush=True)
P
loops() { # NAME [ENV=VALUE...] [-X...]: an interpreter that runs until $T/NAME.go
    local name=$1
    shift
    begin "$name" env "$@" "$PYTHON" "$T/loops.py" "$T/$name"
    await test -e "$T/$name"
}
ends_well() { # NAME WHAT
    : >"$T/$1.go"
    wait "$job"
    is "$2: the job is left alone" "$? $(cat "$T/$1.out") $(cat "$T/$1.err")" "0 done [] True "
}

refused() { # NAME SENTENCE
    attach "$job" --duration 1s
    is "$1: exit code, and nothing on standard error" "$rc $(cat "$ERR")" "0 "
    like "$1: why" "$(text)" "Why: $2"
    like "$1: what would tell" "$(text)" "To know it: Start the job so.*pipeprobe exec -- "
}

sentences() {
# ---- a Python that takes the hooks ----

loops enters
attach "$job" --duration 2s -o "$T/enters.sqlite"
is "a job without torch: exit code" "$rc" 0
like "a job without torch: it took the hooks" "$(text)" "Recorded: Process $job took the hooks (at once|after)"
like "a job without torch: nothing to record" "$(cat "$ERR")" "^pipeprobe attach: no batch of a DataLoader was taken while the hooks were in process $job"
is "a job without torch: the file is whole" "$(meta "$T/enters.sqlite" run outcome) $(sql "$T/enters.sqlite" 'PRAGMA integrity_check') $(meta "$T/enters.sqlite" config attached_pid)" "finished ok $job"
is "a job without torch: its process is named" "$(sql "$T/enters.sqlite" "SELECT count(*) FROM meta WHERE section = 'process' AND key = '$job'")" 1
is "a job without torch: nothing is left" "$(find "$T" -name '*.rings')" ""
attach "$job" --duration 1s -o "$T/again.sqlite"
like "again: it took the hooks" "$(text)" "Recorded: Process $job took the hooks (at once|after)"
attach "$job" --duration 1s --outside
is "--outside: exit code" "$rc" 0
like "--outside: said" "$(text)" "Why: With --outside nothing is put into the job"
refuses "--outside with --output" 2 "--outside records nothing" "$PP" attach "$job" --outside -o x.sqlite

# Two at once, and one that is killed.
"$PP" attach "$job" -o "$T/first.sqlite" >"$T/first.out" 2>"$T/first.err" &
first=$!
pids+=("$first")
await test -e "$T/first.sqlite.rings/process-$job"
attach "$job" --duration 1s -o "$T/second.sqlite"
is "two at once: exit code of the second" "$rc" 4
like "two at once: said" "$(text)" "Why: process $job took no hooks: another pipeprobe attach, process $first, records it"
is "two at once: the second leaves nothing" "$(ls -d "$T"/second* 2>/dev/null)" ""
end $first
attach "$job" --duration 1s -o "$T/third.sqlite"
like "one that was killed: the next one is let in" "$(text)" "Recorded: Process $job took the hooks (at once|after)"
"$PP" attach "$job" -o "$T/stopped.sqlite" >"$T/stopped.out" 2>"$T/stopped.err" &
first=$!
pids+=("$first")
await test -e "$T/stopped.sqlite.rings/process-$job"
kill -INT $first
wait $first
is "Ctrl-C: exit code, and the file is whole" "$? $(meta "$T/stopped.sqlite" run outcome)" "0 finished"
rm -rf "$T"/first.sqlite*
ends_well enters "a job without torch"

# ---- those that do not ----

off="process [0-9]+ has remote debugging switched off: by PYTHON_DISABLE_REMOTE_DEBUG, -X disable-remote-debug, or when its Python was built"
loops off PYTHON_DISABLE_REMOTE_DEBUG=1
refused "PYTHON_DISABLE_REMOTE_DEBUG" "$off"
ends_well off "PYTHON_DISABLE_REMOTE_DEBUG"
begin x "$PYTHON" -X disable-remote-debug "$T/loops.py" "$T/x"
await test -e "$T/x"
refused "-X disable-remote-debug" "$off"
ends_well x "-X disable-remote-debug"

begin blocked "$PYTHON" -c "import signal, sys, time
signal.signal(signal.SIGUSR1, lambda *_: sys.exit(3))
open('$T/blocked', 'w').close()
time.sleep(600)"
await test -e "$T/blocked"
sleep 0.5 # until it sleeps
for _ in 1 2; do
    refused "one that runs no Python" "process $job took no hooks: its main thread ran no Python while it was watched, and the request was taken back"
done
kill -USR1 "$job"
wait "$job"
is "one that runs no Python: when it does again, nothing is left of the request" "$? $(cat "$T/blocked.err")" "3 "

begin recorded "$PP" exec -q -o "$T/exec.sqlite" -- "$PYTHON" "$T/loops.py" "$T/recorded"
await test -e "$T/recorded"
inner=$(pgrep -P "$job" | head -n 1)
attach "$inner" --duration 1s
like "one under pipeprobe exec: why" "$(text)" "Why: process $inner took no hooks: it is recorded already, into .*exec.sqlite"
: >"$T/recorded.go"
wait "$job"
is "one under pipeprobe exec: it goes on" "$? $(cut -d' ' -f1 "$T/recorded.out")" "0 done"

if [ -x /usr/bin/python3 ] && /usr/bin/python3 -c 'import sys; sys.exit(sys.version_info >= (3, 14))'; then
    begin older /usr/bin/python3 "$T/loops.py" "$T/older"
    await test -e "$T/older"
    refused "an older Python" "process $job runs Python 3\.[0-9]+, and only Python 3.14 and later take hooks while they run"
    ends_well older "an older Python"
else skip "an older Python" "there is none"; fi

loops full
mkdir "$T/dir" && : >"$T/dir/file"
attach "$job" --duration 1s -o "$T/dir/file/x.sqlite"
is "no place for the recording: exit code is that of the reason" "$((rc != 0))" 1
like "no place for the recording: why" "$(text)" "Why: .*dir/file"
ends_well full "no place for the recording"

# Root, for another user's job: what is made is that user's.
chmod 755 "$T"
mkdir -m 777 "$T/theirs"
if [ "$(id -u)" -eq 0 ] && setpriv --reuid 65534 --regid 65534 --clear-groups "$PYTHON" -c "import sys; open('$BUILD/python/attach/pipeprobe_attach.py')" 2>/dev/null; then
    begin theirs setpriv --reuid 65534 --regid 65534 --clear-groups "$PYTHON" "$T/loops.py" "$T/theirs/job"
    await test -e "$T/theirs/job"
    attach "$job" --duration 1s -o "$T/theirs/run.sqlite"
    like "another user's job, by root: it took the hooks" "$(text)" "Recorded: Process $job took the hooks (at once|after)"
    is "another user's job: whose file it is" "$(stat -c %u "$T/theirs/run.sqlite")" 65534
    : >"$T/theirs/job.go"
    wait "$job"
    is "another user's job: it is left alone" "$? $(cat "$T/theirs.out") $(cat "$T/theirs.err")" "0 done [] True "
else skip "another user's job, by root" "cannot become another user here, or it cannot read the build"; fi
}
chosen() { grep -Eq -- "$ONLY" <<<"$1"; }

# ---- jobs of PyTorch ----

! chosen sentences || sentences
[ -z "$slice" ] || done_testing

# ---- a free-threaded Python: it runs the job, and takes no hooks ----

free_threaded() {
    local dir=$VENVS/python3t version
    if [ -z "$free" ] && [ ! -e "$dir/complete" ]; then
        rm -rf "$dir"
        if timeout 900 python3 tests/tools/free_threaded_python.py "$dir" 3.14 3.13 >"$T/made" 2>&1; then touch "$dir/complete"
        else skip "a free-threaded Python" "$(tail -n 1 "$T/made" | cut -c1-150)"; rm -rf "$dir"; return; fi
    fi
    [ -n "$free" ] || free=$(ls -d "$dir"/bin/python3.*t)
    is "a free-threaded Python: it is one" "$("$free" -c 'import sys; print(sys._is_gil_enabled())')" False
    version=$("$free" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    begin free "$free" "$T/loops.py" "$T/free"
    await test -e "$T/free"
    if [ "$version" = 3.13 ]; then refused "attach to a free-threaded Python" "process $job runs Python 3\.13, and only Python 3.14 and later take hooks while they run"
    else refused "attach to a free-threaded Python" "process $job runs a free-threaded Python 3\.[0-9]+, which cannot load the hooks; a build of Python with the GIL can"; fi
    ends_well free "attach to a free-threaded Python"
    cat >"$T/pool.py" <<'P'
import multiprocessing, sys
def square(x):
    return x * x
if __name__ == "__main__":
    with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:
        print(pool.map(square, range(4)))
P
    for method in fork spawn forkserver; do
        run "$PP" exec -f -o "$T/free.sqlite" -- "$free" "$T/pool.py" $method
        is "exec of a free-threaded Python, $method: the job runs" "$rc $(cat "$OUT")" "0 [0, 1, 4, 9]"
        like "exec of a free-threaded Python, $method: why it is not recorded" "$(cat "$ERR")" "a free-threaded Python cannot load them; a build of Python with the GIL can"
    done
    run "$PP" exec -f -o "$T/free.sqlite" -- "$free" -c "import subprocess, sys; sys.exit(subprocess.call([sys.argv[1], '-c', 'print(7)']))" "$PYTHON"
    is "a free-threaded Python that starts one with the GIL: that one has the hooks" "$rc $(cat "$OUT") $(sql "$T/free.sqlite" "SELECT count(*) FROM meta WHERE section = 'process'")" "0 7 1"
    run env "PATH=$(dirname "$PP"):$PATH" "PYTHONPATH=$PWD/collectors/attach/package" "$free" -c "import pipeprobe
with pipeprobe.record('$T/block.sqlite'):
    print('ran')"
    is "record() in a free-threaded Python: the block runs" "$rc $(cat "$OUT") $(ls "$T/block.sqlite" 2>&1 | grep -c 'No such')" "0 ran 1"
    like "record() in a free-threaded Python: why it is not recorded" "$(cat "$ERR")" "PipeprobeWarning: pipeprobe: not recorded: a free-threaded Python cannot load the hooks"
}
! chosen free_threaded || free_threaded
if ! "$PYTHON" -c 'import torch' 2>"$T/import"; then skip "jobs of PyTorch under 3.14" "$(tail -n 1 "$T/import")"; done_testing; fi
JOB=$PWD/tests/jobs/attached.py

spans() { sql "$1" "SELECT count(*) FROM v_span WHERE phase = '$2' AND epoch ${3:-> 0}"; }
plain() { # WORKERS OPTION...: what the job says without pipeprobe, with any start method
    local dir="$T/plain.$*"
    mkdir -p "$dir"
    : >"$dir/go"
    [ -e "$dir/out" ] || "$PYTHON" "$JOB" "$dir" fork "$1" 3 "${@:2}" >"$dir/out" 2>"$dir/err"
    grep result "$dir/out"
}
attached() { # NAME METHOD WORKERS OPTION...: attached in the middle of the first of three epochs
    local name=$1 method=$2 workers=$3 R=$T/$1.sqlite
    chosen "$name" || return 0
    shift 3
    mkdir -p "$T/$name.d"
    begin "$name" "$PYTHON" "$JOB" "$T/$name.d" "$method" "$workers" 3 "$@"
    if ! await test -e "$T/$name.d/stands"; then fail "$name: the job runs" <"$T/$name.err"; return; fi
    COLUMNS=400 "$PP" attach "$job" -o "$R" >"$OUT" 2>"$ERR" &
    first=$!
    pids+=("$first")
    await grep -qs "took the hooks" "$ERR" # and its workers are asked: they do it before their next task
    : >"$T/$name.d/go"
    wait "$job"
    is "$name: the job's exit code and standard error" "$? $(cat "$T/$name.err")" "0 "
    is "$name: results and random state are those of the plain run" "$(grep result "$T/$name.out")" "$(plain "$workers" "$@")"
    wait $first
    rc=$?
    is "$name: attach ends with the job" "$rc" 0
    is "$name: every hook fits" "$(sql "$R" "SELECT value FROM meta WHERE section = 'process_note'")" ""
    is "$name: later epochs: batches taken" "$(spans "$R" data_wait)" 24
    is "$name: later epochs: steps" "$((10#$(spans "$R" step) >= 23))" 1
    is "$name: later epochs: samples made" "$(sql "$R" "SELECT count(DISTINCT batch * 1000000 + sample) FROM v_span WHERE phase = 'transform' AND epoch > 0")" 96
    is "$name: later epochs: batches collated" "$(spans "$R" collate)" 24
    is "$name: the trainer's batches are the workers'" "$(sql "$R" "SELECT count(*) FROM v_span WHERE phase = 'data_wait' AND epoch > 0 AND batch NOT IN (SELECT batch FROM v_span WHERE phase = 'collate')")" 0
    holds "$name: the epoch that was going on is recorded from there on" "$(spans "$R" data_wait '= 0') >= 1 && $(spans "$R" data_wait '= 0') <= 10"
    is "$name: one loader, with its arguments" "$(sql "$R" "SELECT count(*) FROM meta WHERE section = 'loader'") $(meta "$R" config num_workers)" "1 $workers"
    "$PP" report --json "$R" >"$T/report.json" 2>"$T/report.err"
    like "$name: the report has a verdict" "$(json "$T/report.json" '$.verdict.l0')" 'input-bound|inconclusive|cpu-starved'
    like "$name: attach says it, about this job" "$(cat "$OUT")" 'the job attached.py'
    cp "$OUT" "$T/$name.said"
}
attached forkserver forkserver 2
attached fork fork 2
attached spawn spawn 2
attached none fork 0
attached persistent forkserver 2 persistent
attached persistent_fork fork 2 persistent
! chosen persistent_fork || like "workers that ran already are told" "$(cat "$T/persistent_fork.said")" "so did 2 of the 2 workers that ran already"

# It leaves a job that goes on: nothing of it in what the job starts afterwards, and the numbers are the same.
leaving() {
    mkdir -p "$T/left.d"
    begin left "$PYTHON" "$JOB" "$T/left.d" forkserver 2 3
    await test -e "$T/left.d/stands"
    attach "$job" --duration 2s -o "$T/left.sqlite"
    is "attach ends before the job" "$rc" 0
    : >"$T/left.d/go"
    wait "$job"
    is "attach ends before the job: results, environment" "$? $(cat "$T/left.out") $(cat "$T/left.err")" "0 $(plain 2)
environment [] False "
}
! chosen leaving || leaving

# The loader of a job that runs is changed, and stays so when attach has left, in its next epochs too.
iterates() { [ -n "$(cat "/proc/$job/task/$job/children" 2>/dev/null)" ]; } # it has started its worker
tries() { [ "$(sql "$T/leaves.sqlite" "SELECT count(*) FROM meta WHERE section = 'loader_change'" 2>/dev/null)" = 1 ]; }
tuned() {
    begin tuned "$PYTHON" "$PWD/tests/jobs/live_job.py" --workers 1 --sample-ms 10 --step-ms 2 --length 12000 --seconds 100
    await iterates && sleep 6
    attach "$job" --tune --duration 40s -o "$T/tuned.sqlite"
    is "attach --tune: exit code" "$rc" 0
    like "attach --tune: the decision is a line" "$(cat "$ERR")" "pipeprobe attach: loader 0.*: num_workers 1 -> [0-9]+: .*, kept at batch [0-9]+"
    is "attach --tune: and a row of the recording" "$(sql "$T/tuned.sqlite" "SELECT count(*) > 0 FROM meta WHERE section = 'loader_change'")" 1
    wait "$job"
    is "attach --tune: the job ends well, its batches in order" "$? $(grep order "$T/tuned.out") $(cat "$T/tuned.err")" "0 order as without: True "
    holds "attach --tune: what was kept stays" "$(sed -n 's/^rates .* //p' "$T/tuned.out") > 1.3 * $(sed -n 's/^rates \([0-9.]*\) .*/\1/p' "$T/tuned.out")"
    begin leaves "$PYTHON" "$PWD/tests/jobs/live_job.py" --workers 1 --sample-ms 10 --step-ms 2 --seconds 90
    await iterates && sleep 6
    "$PP" attach "$job" --tune -o "$T/leaves.sqlite" >"$OUT" 2>"$ERR" &
    pids+=($!)
    await tries
    kill -TERM "${pids[-1]}" # bash starts what runs behind with SIGINT ignored
    wait "${pids[-1]}"
    like "attach --tune leaves in a trial: said" "$(cat "$ERR")" "a change was being tried at the end; a job that goes on takes it back"
    wait "$job"
    is "attach --tune leaves in a trial: the job ends well, its batches in order" "$? $(grep order "$T/leaves.out") $(cat "$T/leaves.err")" "0 order as without: True "
    begin one_rank env OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2 "$PYTHON" "$PWD/tests/jobs/live_job.py" --workers 1 --sample-ms 10 --step-ms 2 --seconds 90
    await iterates && sleep 6
    attach "$job" --tune --duration 15s -o "$T/rank.sqlite"
    like "attach --tune of one of several ranks: why not" "$rc $(text) $(cat "$ERR")" "^[1-9] .*of several ranks none is tuned; leave out --tune"
    end "$job"
}
! chosen tuned || tuned

# ---- pipeprobe exec ----

recorded() { # NAME METHOD
    chosen "$1" || return 0
    mkdir -p "$T/$1.d"
    : >"$T/$1.d/go"
    run timeout 200 "$PP" exec -q -o "$T/$1.sqlite" -- "$PYTHON" "$JOB" "$T/$1.d" "$2" 2 3
    is "exec, $1: exit code and results" "$rc $(grep result "$OUT")" "0 $(plain 2)"
    is "exec, $1: every hook fits" "$(sql "$T/$1.sqlite" "SELECT value FROM meta WHERE section = 'process_note'")" ""
    is "exec, $1: batches and samples" "$(spans "$T/$1.sqlite" data_wait '>= 0') $(spans "$T/$1.sqlite" transform '>= 0')" "36 144"
}
for method in forkserver fork spawn; do recorded "exec_$method" $method; done
newer() {
    if [ -z "$newer" ]; then of_debian 3.15; newer=$where; fi
    if [ -z "$newer" ]; then skip "Python 3.15" "$why"; return; fi
    PYTHON=$newer
    loops newer
    attach "$job" --duration 2s -o "$T/newer.sqlite"
    like "Python 3.15: it took the hooks" "$(text)" "Recorded: Process $job took the hooks (at once|after)"
    ends_well newer "Python 3.15"
    run "$PP" exec -o "$T/newer_exec.sqlite" -- "$PYTHON" -c 'print("ran")'
    is "Python 3.15 under exec: it loads the hooks" "$rc $(cat "$OUT") $(sql "$T/newer_exec.sqlite" "SELECT count(*) FROM meta WHERE section = 'process'")" "0 ran 1"
}
! chosen newer || newer
done_testing
