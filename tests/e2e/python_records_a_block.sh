#!/bin/bash
# `import pipeprobe`: a block of a process is recorded with its workers and no more than the block; the process is as it was, whatever goes wrong;
# the report of a recording as an object; the cell magic in IPython. PYTHON names the interpreter, IPYTHON one that has IPython as well.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
PYTHON=${PYTHON:-/usr/bin/python3}
if [ ! -e "$BUILD/python/attach/_pipeprobe.abi3.so" ]; then skip "a block is recorded" "the extension is not built: no Python.h"; done_testing; fi
if ! imports "$PYTHON" 'torch, torchvision'; then skip "a block is recorded" "$PYTHON has no torch and torchvision"; done_testing; fi

export PATH=$PWD/$BUILD:$PATH PYTHONPATH=$PWD/collectors/attach/package PYTHONDONTWRITEBYTECODE=1
"$MAKE_DATASET" "$T/images" --n 40 --classes 2 --size 160x120 >/dev/null
JOB=$PWD/tests/jobs/notebook.py
said() { grep -- "^$1" "$OUT"; }
batches() { sql "$T/$1.sqlite" "SELECT count(*) FROM v_span WHERE phase = 'data_wait'"; }
# samples made in workers or in the training thread, epochs, loaders
held() { sql "$T/$1.sqlite" "SELECT count(*), (SELECT count(DISTINCT epoch) FROM v_span WHERE phase = 'data_wait'), (SELECT count(*) FROM meta WHERE section = 'loader') FROM v_span WHERE phase = 'transform'"; }
whole() { sql "$T/$1.sqlite" "SELECT value FROM meta WHERE section = 'run' AND key = 'outcome'" && sql "$T/$1.sqlite" 'PRAGMA integrity_check'; }

run timeout 200 "$PYTHON" -W error::ResourceWarning "$JOB" "$T/images" "$T"
is "the program ends as it would" "$rc" 0
is "standard error has no more than the warning that is not ours" "$(grep -v -i 'torchvision\|warn(' "$ERR")" ""
for name in forked spawned; do is "$name: samples, epochs, loaders" "$(held $name)" "40|1|1"; done
is "without workers, twice: samples, epochs, loaders" "$(held plain)" "40|1|1" # replaced by the last one
reads() { sql "$T/$1.sqlite" "SELECT count(DISTINCT sample) FROM v_span WHERE phase = 'read' AND bytes > 0"; }
is "reads are told apart in workers that are started anew, and only there" "$(reads spawned) $(reads forked)" "40 0"
is "two loaders: samples, epochs, loaders" "$(held both)" "80|1|2"
is "two loaders: no batch number twice" "$(sql "$T/both.sqlite" "SELECT count(DISTINCT batch) = count(*) FROM v_span WHERE phase = 'data_wait'")" 1
is "no step reaches from one recording into the next" "$(sql "$T/both.sqlite" "SELECT min(start_ns) >= (SELECT value FROM meta WHERE key = 'started_mono_ns') FROM v_span")" 1
is "the workers are named" "$(sql "$T/spawned.sqlite" "SELECT group_concat(name, ', ') FROM (SELECT name FROM thread WHERE lane = 'worker' ORDER BY name)")" "worker 0, worker 1"
is "what was recorded is the program" "$(sql "$T/forked.sqlite" "SELECT value LIKE '%notebook.py%' FROM meta WHERE key = 'command_line'")" 1
for name in forked plain spawned both kept broken_off raised outer; do is "$name: the file is whole" "$(whole $name | paste -sd' ')" "finished ok"; done
is "workers that are older than the recording: their batches" "$(batches kept)" 5
like "workers that are older than the recording: said" "$(sql "$T/kept.sqlite" "SELECT value FROM meta WHERE section = 'process_note'")" "older than the recording"
is "after a loop that was left: nothing of later epochs" "$(batches broken_off)" 1
is "after an exception in the block: all before it" "$(batches raised)" 5
is "the batches are the same" "$(said forked; said both)" $'forked same batches True\nboth same batches True'
is "random state and environment" "$(said random; said environment)" $'random state True\nenvironment True'
is "the exception is the user's own" "$(said exception)" "exception \"the user's own\""
is "a block that is run again records anew, and the existing file stays" "$(said 'file exists') $([ -e "$T/plain-2.sqlite" ] && echo plain-2)" "file exists: recorded True samples 40 plain-2"
is "no directory for the file" "$(said 'no directory')" "no directory: samples 40"
is "in a block that is recorded already" "$(said nested:)" "nested: recorded True False"
for name in nested nowhere; do is "$name: one warning, where the block begins" "$(said "$name warned")" "$name warned 1 names True here True"; done
is "a collector that is killed" "$(said 'collector killed'; said 'killed warned')" $'collector killed: samples 40\nkilled warned 1'
run "$PP" report --json "$T/killed.sqlite"
check "what it had stored can be read" json_valid "$OUT"

# ---- a process that is killed, and one that exec records ----
cat >"$T/killed_itself.py" <<'P'
import os, sys, pipeprobe
with pipeprobe.record(sys.argv[1]) as r:
    if len(sys.argv) > 2: os.kill(os.getpid(), 9)
    print("recorded", r.active, r.path)
P
run "$PYTHON" "$T/killed_itself.py" "$T/killed_itself.sqlite" kill
is "a process that is killed: status" "$rc" 137
for _ in $(seq 300); do [ -e "$T/killed_itself.sqlite.rings" ] || break; sleep 0.1; done
is "a process that is killed: the file is whole" "$(whole killed_itself | paste -sd' ')" "finished ok"
run "$PP" exec -q -o "$T/around.sqlite" -- "$PYTHON" "$T/killed_itself.py" "$T/within.sqlite"
is "within exec: its recording is the one" "$rc $(cat "$OUT")" "0 recorded False $(realpath "$T/around.sqlite")"
like "within exec: said" "$(cat "$ERR")" "killed_itself.py:2: PipeprobeWarning: pipeprobe: not recorded: this process is recorded already, into .*around.sqlite"

# ---- IPython ----
IPYTHON=${IPYTHON:-$PWD/build/venv/ipython/bin/python}
if ! "$IPYTHON" -c 'import IPython' 2>/dev/null; then
    { "$PYTHON" -m venv --system-site-packages build/venv/ipython && timeout 120 build/venv/ipython/bin/pip install -q ipython; } >"$T/pip" 2>&1
fi
if ! "$IPYTHON" -c 'import IPython, torchvision' 2>/dev/null; then skip "cells of IPython" "IPython cannot be installed from PyPI here"
else
    run env IPYTHONDIR="$T/ipython" timeout 120 "$IPYTHON" tests/jobs/cells.py "$T/images" "$T"
    is "cells of IPython" "$rc $(cat "$OUT")" "0 load True ''
cell True 40 ['taken', '40', 'Out[0]:', '41']
page 1 True
again True -40 1 False
raises False CellFailed 1 1
usage False True"
    is "a cell's recording" "$(batches cell)" 1
fi
is "nothing but recordings is left" "$(find "$T" -maxdepth 1 -name '*.rings' -not -name 'killed.*' | wc -l)" 0
done_testing
