#!/bin/bash
# make bench-attach: what recording an unmodified PyTorch job costs. PYTHON names an interpreter with torch and torchvision, STARTS how often the jobs
# that take turns are started (20), ROUNDS how often each variant runs as a whole (5), BESIDE the other tools in that table (profiler; traceml where PYTHON has
# it). Idle machine: two and a half hours.
set -u
cd "$(dirname "$0")/../../.." || exit 2
B=${B:-build/release} PYTHON=${PYTHON:-/usr/bin/python3} STARTS=${STARTS:-20} ROUNDS=${ROUNDS:-5}
here=tests/bench/attach
unset PYTHONDONTWRITEBYTECODE # else each start compiles the hooks
[ -e "$B/python/attach/_pipeprobe.abi3.so" ] || { echo "bench-attach: the extension is not built: no Python.h (make deps)" >&2; exit 2; }
"$PYTHON" -c 'import torch, torchvision' || { echo "bench-attach: $PYTHON has no torch and torchvision; try PYTHON=..." >&2; exit 2; }
beside=${BESIDE:-profiler$("$PYTHON" -c 'import traceml_ai' 2>/dev/null && echo ,traceml)}
T=$(mktemp -d) || exit 2
trap 'rm -rf "$T"' EXIT
"$B/samples/make_dataset" "$T/images" --n 800 >/dev/null && "$B/samples/make_dataset" --tokens "$T/tokens.bin" --n 200000000 >/dev/null || exit 2

echo "start of a Python process (goal: at most +15 ms)"
"$PYTHON" $here/costs.py "$B/pipeprobe" start --rounds 100
echo
echo "one JPEG sample, by thread CPU time (goal: at most +1 %)"
"$B/pipeprobe" exec -q --force -o "$T/run.sqlite" -- "$PYTHON" $here/sample_cost.py "$T/images" 2
echo
echo "throughput, the jobs in turns (goal: at least 0.99)"
"$PYTHON" $here/turns.py "$B/pipeprobe" images "$T/images" --starts "$STARTS"
"$PYTHON" $here/turns.py "$B/pipeprobe" tokens "$T/tokens.bin" --starts "$STARTS"
echo
echo "recorded epochs beside plain ones, in one process"
"$PYTHON" $here/epochs.py "$B/pipeprobe" images "$T/images" --turn 1.2 --rounds 60
"$PYTHON" $here/epochs.py "$B/pipeprobe" tokens "$T/tokens.bin" --length 1900 --turn 0.7 --rounds 80
echo
echo "beside other tools, whole jobs"
"$PYTHON" $here/costs.py "$B/pipeprobe" images "$T/images" --rounds "$ROUNDS" --batches 60 --beside "$beside"
