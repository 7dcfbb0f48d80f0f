#!/bin/bash
# A PyTorch script that knows nothing of pipeprobe: recorded by exec, it prints and returns what it would without, and its recording says which
# worker did what. PYTHON names the interpreter.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
PYTHON=${PYTHON:-/usr/bin/python3}
HOOKS=$PWD/$BUILD/python/attach
JOB=$PWD/tests/jobs/images.py
R=$T/run.sqlite

if [ ! -e "$HOOKS/_pipeprobe.abi3.so" ]; then skip "an unmodified job is recorded" "the extension is not built: no Python.h"; done_testing; fi
if ! imports "$PYTHON" 'torch, torchvision'; then skip "an unmodified job is recorded" "$PYTHON has no torch and torchvision"; done_testing; fi

"$PWD/$BUILD/samples/make_dataset" "$T/images" --n 60 --classes 3 --size 160x120 >/dev/null
export PYTHONHASHSEED=0
count() { sql "$R" "SELECT count(*) FROM v_span WHERE $1"; }
# recorded NAME ARGUMENTS...: runs the job without and with us; their output (but for times) and status are equal.
recorded() {
    local name=$1 plain_rc
    shift
    "$PYTHON" "$JOB" "$T/images" "$@" >"$T/plain.out" 2>"$T/plain.err"
    plain_rc=$?
    run timeout 120 "$PP" exec -q --force -o "$R" -- "$PYTHON" "$JOB" "$T/images" "$@"
    is "$name: exit status" "$rc" "$plain_rc"
    is "$name: losses, labels, weights, random state" "$(grep -v waited "$OUT")" "$(grep -v waited "$T/plain.out")"
    # Which line of its own torch was at when a worker's message came is a matter of time.
    is "$name: standard error" "$(sed 's/line [0-9]*, in _next_data/_next_data/' "$ERR")" "$(sed 's/line [0-9]*, in _next_data/_next_data/' "$T/plain.err")"
    is "$name: the recording is whole" "$(sql "$R" 'PRAGMA integrity_check')" ok
    is "$name: the hooks stayed on" "$(sql "$R" "SELECT value FROM meta WHERE section = 'process_note'")" ""
}
# has NAME SAMPLES EPOCHS BATCHES: every sample, batch and epoch is there, no phase of a thread runs into the next.
has() {
    is "$1: a decode for each sample" "$(count "phase = 'decode'")" "$2"
    is "$1: a read for each sample" "$(count "phase = 'read' AND bytes > 0")" "$2"
    is "$1: a transform for each sample" "$(count "phase = 'transform' AND cpu_ns IS NOT NULL")" "$2"
    is "$1: waits" "$(sql "$R" "SELECT count(*), min(batch), max(batch), max(epoch) FROM v_span WHERE phase = 'data_wait'")" "$4|0|$(($4 - 1))|$(($3 - 1))"
    is "$1: the workers' batches are the trainer's" "$(sql "$R" "SELECT count(DISTINCT batch), min(batch), max(batch) FROM v_span WHERE phase = 'collate'")" "$4|0|$(($4 - 1))"
    is "$1: no phase of a thread runs into the next" "$(sql "$R" "SELECT count(*) FROM (SELECT start_ns, lag(start_ns + dur_ns) OVER (PARTITION BY thread ORDER BY start_ns, id) AS before FROM span) WHERE before > start_ns + 1000")" 0
    # Each wait by a clock of the job's own around next(). A thread may lose its CPU between the two clocks, so a quarter of them may differ.
    sql "$R" "SELECT dur_ns / 1000 FROM v_span WHERE phase = 'data_wait' ORDER BY start_ns" >"$T/ours"
    is "$1: three of four waits are the job's own, to 1 % and 50 us" "$(awk '/^waited/ {for (i = 2; i <= NF; i++) print $i}' "$OUT" | paste - "$T/ours" |
        awk '{d = $1 - $2; if (d < 0) d = -d; if (d <= 0.01 * $1 + 50) good++} END {print (good >= 0.75 * NR ? "yes" : good " of " NR)}')" yes
}

recorded fork --start fork
has fork 120 2 16
PIXELS=$("$PYTHON" -c 'import glob, sys; from PIL import Image; print(sum(w * h for w, h in (Image.open(f).size for f in glob.glob(sys.argv[1] + "/*/*"))))' "$T/images")
is "how large the decoded images are" "$(sql "$R" "SELECT sum(bytes) / 3 / 2 FROM v_span WHERE phase = 'decode'")" "$PIXELS"
run "$PP" whatif "$R" --set decode=nvjpeg
like "decoding on a GPU, at a published rate, where the replay fits" "$rc $(cat "$OUT" "$ERR" | tr '\n' ' ')" "^0 .*published for an A100|^3 "
is "the samples are the data set's, each once an epoch" "$(sql "$R" "SELECT count(*), count(DISTINCT sample), min(sample), max(sample) FROM v_span WHERE phase = 'transform' AND epoch = 1")" "60|60|0|59"
is "the last batch of an epoch is short" "$(sql "$R" "SELECT sum(samples) FROM v_span WHERE phase = 'data_wait'")" 120
is "what the DataLoader was told" "$(sql "$R" "SELECT group_concat(key || '=' || value, ' ') FROM (SELECT * FROM meta WHERE section = 'config' AND key IN ('workers', 'batch_size', 'prefetch', 'source') ORDER BY key)" | sed 's/\.0//g')" \
    "batch_size=8 prefetch=2 source=pytorch workers=2"
like "the loader's row" "$(sql "$R" "SELECT value FROM meta WHERE section = 'loader'")" "dataset=torchvision.datasets.folder.ImageFolder samples=60 .* start_method=fork epochs=2"
unpickled() { sql "$R" "SELECT count(*) > 0 AND count(*) <= (SELECT count(*) FROM v_span WHERE phase = 'data_wait') AND sum(value) < (SELECT sum(dur_ns) FROM v_span WHERE phase = 'data_wait') FROM counter WHERE name = 'unpickle_ns'"; }
is "unpickling is a part of the waits" "$(unpickled)" 1
recorded spawn --start spawn --epochs 1
has spawn 60 1 8
recorded forkserver --start forkserver --epochs 1
has forkserver 60 1 8
recorded "without workers" --workers 0
has "without workers" 120 2 16
is "without workers nothing is unpickled" "$(sql "$R" "SELECT count(*) FROM counter WHERE name = 'unpickle_ns'")" 0
# Between two samples the kernel takes the CPU away, for whoever reads a clock there; here it is a sleep.
run timeout 60 "$PP" exec -q --force -o "$R" -- "$PYTHON" -c 'import time, torch
from torch.utils.data import DataLoader, Dataset
class Numbers(list):
    def __iter__(self):
        for i in range(16):
            yield i
            time.sleep(0.004)
class D(Dataset):
    def __getitem__(self, i): return torch.tensor(sum(range(40000)) + i)
for b in DataLoader(D(), batch_sampler=[Numbers()] * 12): pass'
like "without workers a wait between samples is of the next one" "$(sql "$R" "SELECT sum(dur_ns * (phase = 'transform')) * 100 / sum(dur_ns * (phase = 'data_wait')) FROM v_span")" '^([89].|100)$'
recorded "persistent workers" --persistent --epochs 3
has "persistent workers" 180 3 24
is "persistent workers: no more lanes than workers" "$(sql "$R" "SELECT count(*) FROM thread WHERE lane = 'worker'")" 2
recorded "a Subset" --subset
has "a Subset" 60 2 8
recorded "an iterable data set" --iterable
is "an iterable data set: samples" "$(count "phase = 'transform'")" 120
is "an iterable data set: batches of both workers" "$(sql "$R" "SELECT count(DISTINCT batch) = count(*) FROM v_span WHERE phase = 'data_wait'")" 1
recorded "a second loader" --validate --epochs 2
is "a second loader: both are there, the one that is made anew each epoch as one" "$(sql "$R" "SELECT count(*), sum(value LIKE '% epochs=2 %') FROM meta WHERE section = 'loader'")" "2|2"
is "a second loader: no batch number twice" "$(sql "$R" "SELECT count(DISTINCT batch) = count(*) FROM v_span WHERE phase = 'data_wait'")" 1

# Tracebacks are the job's own.
for start in fork spawn forkserver; do
    recorded "an exception in a worker ($start)" --start $start --fail-at 17
    is "an exception in a worker ($start): the sample is marked" "$(sql "$R" "SELECT DISTINCT sample FROM v_span WHERE phase = 'transform' AND flags & 1")" 17
done
recorded "an exception without workers" --workers 0 --fail-at 17
run timeout 60 "$PP" exec --force -o "$R" -- "$PYTHON" -c 'import torch
from torch.utils.data import DataLoader
class D(torch.utils.data.Dataset):
    def __len__(self): return 8
    def __getitem__(self, i): raise OSError("no such image")
next(iter(DataLoader(D(), num_workers=1)))'
is "the first batch fails: status" "$rc" 1
like "the first batch fails: it is said where, and nothing of ranges" "$(cat "$ERR")" "^FAILED after 0 batches, .*worker 0 raised OSError"

# The user's own sitecustomize runs, and its errors are said as ever.
mkdir "$T/site"
echo 'import sys; sys.stderr.write("site of the user\n")' >"$T/site/sitecustomize.py"
export PYTHONPATH=$T/site
recorded "a sitecustomize of the user's" --epochs 1
has "a sitecustomize of the user's" 60 1 8
echo 'raise RuntimeError("not today")' >"$T/site/sitecustomize.py"
recorded "a broken sitecustomize" --epochs 1 --workers 0
unset PYTHONPATH
run timeout 60 "$PP" exec -q --force -o "$R" -- "$PYTHON" -c 'import sys; print([p for p in sys.path if "attach" in p], "sitecustomize" in sys.modules, len(sys.meta_path))'
is "no entry of pipeprobe on sys.path" "$(cut -d' ' -f1 "$OUT")" "[]"

# Where Python ignores us, the job runs all the same.
for option in -I -E -S; do
    run timeout 60 "$PP" exec --force -o "$R" -- "$PYTHON" $option -c 'print(7)'
    is "python $option: status and output" "$rc $(cat "$OUT")" "0 7"
    like "python $option: what to do is said" "$(cat "$ERR")" "-I, -E and -S.*start it so: pipeprobe exec -- $PYTHON -c"
done
run timeout 60 "$PP" exec --force -o "$R" -- "$PYTHON" -c 'print(7)'
like "a job without a DataLoader" "$(cat "$ERR")" "did not import torch.utils.data"

# A version of torch that is not like the ones we know: the hook is left out and named.
mkdir -p "$T/odd/torch/utils/data/_utils"
for d in torch torch/utils torch/utils/data torch/utils/data/_utils; do : >"$T/odd/$d/__init__.py"; done
echo 'class Other: pass' >"$T/odd/torch/utils/data/dataloader.py"
PYTHONPATH=$T/odd run timeout 60 "$PP" exec --force -o "$R" -- "$PYTHON" -c 'import torch.utils.data.dataloader as d; print(d.Other.__name__)'
is "another torch: status and output" "$rc $(cat "$OUT")" "0 Other"
like "another torch: the hooks are named" "$(cat "$ERR")" "torch.utils.data.dataloader is not recorded \(waits, places of loaders, later epochs, beginnings of epochs, batch lengths, order, batches that are ready, samples\): AttributeError"

# A worker that is killed: torch's own error, and the recording has what it did. The same for the job.
cat >"$T/kill.py" <<'P'
import os, signal, sys, torch
from torch.utils.data import DataLoader, Dataset
class D(Dataset):
    def __len__(self): return 400
    def __getitem__(self, i):
        if i == 100: os.kill(os.getpid() if sys.argv[1] == "worker" else os.getppid(), signal.SIGKILL)
        return torch.zeros(50000) + i
for b in DataLoader(D(), batch_size=4, num_workers=2): pass
P
run timeout 60 "$PP" exec --force -o "$R" -- "$PYTHON" "$T/kill.py" worker
is "a killed worker: status" "$rc" 1
# Instead of its traceback, sometimes, without us too: "lost sys.stderr", when the end comes while an error is printed.
like "a killed worker: torch's own error" "$(cat "$ERR")" "Traceback|lost sys.stderr"
check "a killed worker: what it did is there" test "$(count "lane = 'worker'")" -gt 50
run timeout 60 "$PP" exec --force -o "$R" -- "$PYTHON" "$T/kill.py" job
is "a killed job: status" "$rc" 137
check "a killed job: what it did is there" test "$(count "phase = 'data_wait'")" -gt 5
is "nothing but the recording is left" "$(find "$T" -maxdepth 1 -name '*.rings' -o -maxdepth 1 -name '*-wal' | wc -l)" 0

# A program built with AddressSanitizer starts as ever: nothing is preloaded before its runtime.
if echo 'int main(void) { return 3; }' | "${CC:-cc}" -fsanitize=address -x c - -o "$T/asan" 2>/dev/null && "$T/asan"; [ $? -eq 3 ]; then
    run timeout 60 "$PP" exec -q --force -o "$R" -- "$T/asan"
    is "a program with AddressSanitizer" "$rc $(cat "$ERR")" "3 "
else
    skip "a program with AddressSanitizer" "the compiler has no libasan"
fi
done_testing
