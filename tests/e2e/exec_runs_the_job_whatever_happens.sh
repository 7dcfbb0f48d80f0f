#!/bin/bash
# pipeprobe exec where something is in the way of recording: the job runs, with its own output and exit status, and one sentence says what is
# missing and how to get it. 125 is left for what was typed wrong.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
PYTHON=${PYTHON:-/usr/bin/python3}
command -v "$PYTHON" >/dev/null || skip_all "$PYTHON is not there"
HOOKS=$PWD/$BUILD/python/attach
mounted=()
cleanup() { for d in "${mounted[@]}"; do umount "$d" 2>/dev/null; done; rm -rf "$T"; }
cat >"$T/job.py" <<'P'
import sys
print(sys.stdin.read() + " 7")
sys.exit(3)
P
printf 'print(7)\n' >"$T/one.py"

# The job's own: its input, its output, its status.
job_ran() { is "$1: the job ran" "$rc $(cat "$OUT")" "3 in 7"; }
job() { # ARGUMENTS of exec...: the job under it, with "in" as its input
    echo "exec $*" >"$T/command"
    printf in | timeout 60 "$PP" exec "$@" -- "$PYTHON" "$T/job.py" >"$OUT" 2>"$ERR"
    rc=$?
}
CLIENT=$PWD/$BUILD/tests/tools/nvtx_client
records() { # ARGUMENTS of exec...: a program of which something is recorded, so that its file stays
    echo "exec $*" >"$T/command"
    timeout 60 "$PP" exec "$@" -- "$CLIENT" train=5 >"$OUT" 2>"$ERR"
    rc=$?
}
unrecorded() { # NAME REGEX: said before and after, and nothing else
    job_ran "$1"
    is "$1: two sentences" "$(grep -c . "$ERR")" 2
    like "$1: said before" "$(head -n 1 "$ERR")" "python3? runs unrecorded: .*$2"
    like "$1: and at the end" "$(tail -n 1 "$ERR")" "nothing of .*python3? was recorded: .*$2"
}

# ---- where the recording goes ----

mkdir -p "$T/out.d"
printf 'not a database' >"$T/out.d/run.sqlite"
records -o "$T/out.d/run.sqlite"
is "an existing file: the program ran" "$rc" 0
like "an existing file: where the recording is" "$(head -n 1 "$ERR")" "run.sqlite already exists, so this recording is $T/out.d/run-2.sqlite"
is "an existing file: left as it is" "$(cat "$T/out.d/run.sqlite")" "not a database"
is "an existing file: the recording is whole" "$(sql "$T/out.d/run-2.sqlite" 'PRAGMA integrity_check')" ok
records -q -o "$T/out.d/run.sqlite"
like "a second time, and quiet: the next name" "$(cat "$ERR")" "recording is $T/out.d/run-3.sqlite"
is "a second time: one sentence" "$(grep -c . "$ERR")" 1
records -f -q -o "$T/out.d/run.sqlite"
is "with --force it is replaced" "$rc $(sql "$T/out.d/run.sqlite" 'PRAGMA integrity_check') $(cat "$ERR")" "0 ok "
job -q -o "$T/out.d/nothing.sqlite"
job_ran "nothing recorded"
is "nothing recorded: no file" "$(ls "$T"/out.d/nothing* 2>/dev/null)" ""
for name in plain .hidden; do
    : >"$T/out.d/full" && printf x >"$T/out.d/$name"
    records -q -o "$T/out.d/$name"
    check "a name without a suffix: $name-2" test -s "$T/out.d/$name-2"
done
cat >"$T/wait.py" <<'P'
import os, sys, time
open(sys.argv[1] + ".on", "w").close()
until = time.monotonic() + 60
while not os.path.exists(sys.argv[1] + ".go") and time.monotonic() < until: time.sleep(0.02)
P
"$PP" exec -q -f -o "$T/both.sqlite" -- "$PYTHON" "$T/wait.py" "$T/both" >/dev/null 2>&1 &
first=$!
for _ in $(seq 600); do [ -e "$T/both.on" ] && break; sleep 0.05; done
job -q -f -o "$T/both.sqlite"
: >"$T/both.go"
wait $first
is "one that another exec records into: both have one" "$rc $(sql "$T/both.sqlite" 'PRAGMA integrity_check') $(sql "$T/both-2.sqlite" 'PRAGMA integrity_check')" "3 ok ok"

job -o "$T/out.d"
unrecorded "a directory in place of the file" "is a directory"
job -o "$T/absent/run.sqlite"
unrecorded "a directory that is not there" "absent"
job -q -o "$T/job.py/run.sqlite"
unrecorded "a file in place of the directory" "not a directory"
job -o /dev/null
unrecorded "a device" "/dev/null"
is "a device: no file beside it" "$(ls /dev/null-* 2>/dev/null)" ""

# Read-only and full directories: of our own where mounting is allowed.
mkdir "$T/readonly" "$T/full"
if [ "$(id -u)" -ne 0 ]; then chmod 555 "$T/readonly"; elif mount -t tmpfs -o ro tmpfs "$T/readonly" 2>/dev/null; then mounted+=("$T/readonly"); fi
if [ "$(id -u)" -ne 0 ] || [ ${#mounted[@]} -gt 0 ]; then
    job -o "$T/readonly/run.sqlite"
    unrecorded "a read-only directory" "readonly"
    here=$PWD
    cd "$T/readonly" && job && cd "$here" || exit 1
    unrecorded "a read-only directory, the default name" "pipeprobe-"
else skip "a read-only directory" "root may write everywhere, and may not mount here"; fi
if [ "$(id -u)" -eq 0 ] && mount -t tmpfs -o size=64k tmpfs "$T/full" 2>/dev/null; then
    mounted+=("$T/full")
    dd if=/dev/zero of="$T/full/fill" bs=4k 2>/dev/null
    job -o "$T/full/run.sqlite"
    unrecorded "a full directory" "full"
    is "a full directory: nothing is left in it" "$(ls -A "$T/full")" fill
else skip "a full directory" "mounting one needs root"; fi

# An unrecorded job is a job like any other.
run timeout 60 "$PP" exec -q -o "$T/absent/x.sqlite" -- "$PYTHON" -c 'import os; print("PIPEPROBE_SESSION" in os.environ, flush=True); os.kill(os.getpid(), 9)'
is "unrecorded: its signal and its environment" "$rc $(cat "$OUT")" "137 False"
"$PP" exec -q -o "$T/absent/x.sqlite" -- "$PYTHON" -c "import signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: sys.exit(42))
open('$T/up', 'w').close()
time.sleep(60)" 2>/dev/null &
pid=$!
for _ in $(seq 600); do [ -e "$T/up" ] && break; sleep 0.05; done
kill -TERM $pid
wait $pid
is "unrecorded: SIGTERM is passed on" "$?" 42

# Variables of any length stay whole.
long=$(printf "$T/%0200d:" $(seq 60))end
PYTHONPATH=$long run timeout 60 "$PP" exec -q -o "$T/long.sqlite" -- "$PYTHON" -c 'import os; print(os.environ["PYTHONPATH"].endswith(":end"), len(os.environ["PYTHONPATH"]) > 12000)'
is "a PYTHONPATH of 12 KB" "$rc $(cat "$OUT")" "0 True True"

# ---- what was typed wrong, and what cannot be started ----

refuses "standard output as the file" 125 "cannot be written to standard output" "$PP" exec -o - -- "$PYTHON" "$T/one.py"
run "$PP" exec --nosuch -- "$PYTHON" "$T/one.py"
is "an option that exec does not have" "$rc $(cat "$OUT")" "125 "
refuses "no Python" 127 "program not found: python9.9 in PATH" "$PP" exec -o "$T/no.sqlite" -- python9.9 "$T/one.py"
refuses "no Python, by its path" 127 "program not found" "$PP" exec -o "$T/no.sqlite" -- "$T/venv/bin/python" "$T/one.py"
check "and no file" test ! -e "$T/no.sqlite"

# ---- the injection library ----

PIPEPROBE_INJECT_LIB=$T/gone.so job -q -o "$T/nolib.sqlite"
job_ran "no injection library"
like "no injection library: said" "$(cat "$ERR")" "NVTX ranges are not recorded: PIPEPROBE_INJECT_LIB: $T/gone.so"

# ---- a Python that ignores us ----

if [ ! -e "$HOOKS/_pipeprobe.abi3.so" ]; then skip "a Python without hooks" "the extension is not built: no Python.h"; done_testing; fi
advice() { # NAME START-IT-SO COMMAND...: reported by nobody, and the command that would be
    local name=$1 command=$2
    shift 2
    run timeout 60 "$PP" exec -f -o "$T/r.sqlite" -- "$@"
    is "$name: status and output" "$rc $(cat "$OUT")" "0 7"
    is "$name: one sentence at the end" "$(grep -vc ' recording into ' "$ERR")" 1
    is "$name: how to start it" "$(sed -n 's/^pipeprobe exec: nothing was recorded of [^:]*: .*; start it so: //p' "$ERR")" "$command"
}
for option in -I -E -S; do advice "python $option" "pipeprobe exec -- $PYTHON $T/one.py" "$PYTHON" $option "$T/one.py"; done
advice "python -uI" "pipeprobe exec -- $PYTHON -u $T/one.py" "$PYTHON" -uI "$T/one.py"
advice "options with arguments" "pipeprobe exec -- $PYTHON -W ignore -Xdev $T/one.py" "$PYTHON" -W ignore -I -Xdev "$T/one.py"
advice "the job's own -I stays" "pipeprobe exec -- $PYTHON -c 'print(7)' -I 'two words'" "$PYTHON" -Ec 'print(7)' -I 'two words'
advice "a launcher that drops the environment" "env -i pipeprobe exec -- $PYTHON $T/one.py" env -i "$PYTHON" "$T/one.py"
advice "both" "env -i pipeprobe exec -- $PYTHON $T/one.py" env -i "$PYTHON" -I "$T/one.py"
printf '#!/bin/sh\nexec env -i %s %s\n' "$PYTHON" "$T/one.py" >"$T/launch.sh" && chmod +x "$T/launch.sh"
mkdir "$T/path" && printf '#!/bin/sh\nexec env -i PATH=/usr/bin:/bin "$@"\n' >"$T/path/sudo" && chmod +x "$T/path/sudo"
PATH=$T/path:$PATH advice "sudo" "sudo pipeprobe exec -- $PYTHON $T/one.py" sudo "$PYTHON" "$T/one.py"
run timeout 60 "$PP" exec -f -o "$T/r.sqlite" -- "$T/launch.sh"
is "a script that drops it: status and output" "$rc $(cat "$OUT")" "0 7"
like "a script that drops it: how to start it" "$(cat "$ERR")" "If it starts a job: .*launch.sh pipeprobe exec -- python3 train.py"
like "control characters of a name are not printed" "$(run timeout 60 "$PP" exec -f -o "$T/r.sqlite" -- "$PYTHON" -I -c 'print(7)' $'\e[31mred'; cat "$ERR")" "\\\\x1b"

# An extension that cannot be loaded, as in a free-threaded Python.
mkdir -p "$T/inst/bin" "$T/inst/lib/pipeprobe/python/attach"
cp "$PP" "$T/inst/bin/pipeprobe" && cp "$BUILD/libpipeprobe_inject.so" "$T/inst/lib/"
cp "$HOOKS"/*.py "$T/inst/lib/pipeprobe/python/attach/" && echo garbage >"$T/inst/lib/pipeprobe/python/attach/_pipeprobe.abi3.so"
run timeout 60 "$T/inst/bin/pipeprobe" exec -f -o "$T/r.sqlite" -- "$PYTHON" "$T/one.py"
is "an extension that cannot be loaded: status and output" "$rc $(cat "$OUT")" "0 7"
like "an extension that cannot be loaded: why" "$(cat "$ERR")" "the hooks cannot be loaded into .*python.*: .*_pipeprobe"
is "and no empty file is left" "$(ls "$T"/r.sqlite 2>/dev/null)" ""
is "and nothing is left" "$(find "$T" -maxdepth 1 -name '*.rings')" ""
# A free-threaded Python 3.13 takes the extension by its name, and crashes in it (make test-python314 runs a real one).
mkdir "$T/session"
is "a free-threaded Python does not load the extension" "$(PIPEPROBE_SESSION=$T/session "$PYTHON" -E -c "import sys
sys.abiflags = 't'
sys.path.insert(0, '$HOOKS')
sys.modules.pop('sitecustomize', None)
try:
    import sitecustomize
except ImportError:
    pass
print('_pipeprobe' in sys.modules)")" False
like "a free-threaded Python is named" "$(cat "$T/session/unhooked")" "free-threaded Python cannot load them"
old=$(ls -d "$HOME"/.pyenv/versions/3.7*/bin/python3 2>/dev/null | head -n 1)
if [ -n "$old" ] && "$old" -c pass 2>/dev/null; then
    run timeout 60 "$PP" exec -f -o "$T/r.sqlite" -- "$old" "$T/one.py"
    is "an old Python: status and output" "$rc $(cat "$OUT")" "0 7"
    like "an old Python: why" "$(cat "$ERR")" "Python 3.7 is older than 3.8"
else skip "an old Python" "there is no Python 3.7"; fi

# ---- a job without a loader ----

job -f -o "$T/r.sqlite"
job_ran "no torch"
like "no torch: said" "$(cat "$ERR")" "the job job.py ended with exit status 3 before it took a batch, so nothing was recorded"
is "no torch: one sentence at the end" "$(grep -vc ' recording into ' "$ERR")" 1
if imports "$PYTHON" torch; then
    run timeout 120 "$PP" exec -f -o "$T/r.sqlite" -- "$PYTHON" -c 'import torch.utils.data; print(7)'
    is "no loader: status and output" "$rc $(cat "$OUT")" "0 7"
    like "no loader: said" "$(cat "$ERR")" "nothing was recorded: the job python3 -c took no batch of a DataLoader and made no NVTX range"
    is "no loader: one sentence at the end" "$(grep -vc ' recording into ' "$ERR")" 1
else skip "a job that never makes a loader" "$PYTHON has no torch"; fi
# Another kind of loader is named, with what works for it, and no word of torch.
mkdir -p "$T/others/nvidia/dali" "$T/others/grain" "$T/others/ray/data"
touch "$T"/others/{nvidia,nvidia/dali,grain,ray,ray/data}/__init__.py
other() { # MODULE SENTENCE
    PYTHONPATH=$T/others run timeout 60 "$PP" exec -f -o "$T/r.sqlite" -- "$PYTHON" -c "import $1; print(7)"
    is "$1: status and output" "$rc $(cat "$OUT")" "0 7"
    like "$1: named, with what works" "$(cat "$ERR")" "the job python3 -c uses $2"
    is "$1: no advice of torch's" "$(grep -ci torch "$ERR")" 0
}
other grain "Grain, whose batches exec did not time.*jax.profiler"
other nvidia.dali "DALI.*--map of them"
other ray.data "Ray Data.*two ranges in the training loop"
mkdir -p "$T/cwd/dali" # of that name is a map that nobody asked for
rc=0 && (cd "$T/cwd" && "$PP" exec -q -f -o "$T/r.sqlite" -- true) || rc=$?
is "a directory called dali: the job runs" "$rc" 0
done_testing
