#!/bin/bash
# A PyTorch epoch begins with an empty pipeline, and with workers that start again: how long that takes is in the recording, and predictions know it.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
PYTHON=${PYTHON:-/usr/bin/python3} R=$T/run.sqlite
[ -e "$BUILD/python/attach/_pipeprobe.abi3.so" ] || skip_all "the extension is not built: no Python.h"
imports "$PYTHON" torch || skip_all "$PYTHON has no torch"
record() { run timeout 120 "$PP" exec -q -f -o "$R" -- "$PYTHON" -W ignore tests/jobs/sleeps.py --samples 40 --sample-ms 10 --step-ms 5 "$@"; }
starts() { sql "$R" "SELECT count(*) FROM v_span WHERE lane = 'trainer' AND phase = 'startup'"; }
gain() { run timeout 60 "$PP" whatif --json "$R" --set "$1"; json "$OUT" '$.predictions[0].gain'; }
between() { is "$1: $2 in $3 to $4" "$(awk -v x="$2" -v a="$3" -v b="$4" 'BEGIN { print (x + 0 >= a && x + 0 <= b) }')" 1; }

# Ten batches of 4 samples: with two workers five rounds of 40 ms, with four three of them, and both start and end their workers.
record --workers 2 --epochs 12
is "the job" "$rc" 0
is "workers start for each epoch" "$(starts)" 12
between "twice the workers" "$(gain workers=4)" 0.1 0.62
between "half of them" "$(gain workers=1)" -0.5 -0.3
between "workers that stay" "$(gain persistent-workers=yes)" 0.02 0.4
run timeout 60 "$PP" report --json "$R"
is "that is a fix of the report" "$(sql :memory: "SELECT count(*) FROM json_each(CAST(readfile('$OUT') AS TEXT), '\$.verdict.fixes') WHERE json_extract(value, '\$.knob') = 'persistent-workers'")" 1
most=$(sql :memory: "SELECT max(json_extract(value, '\$.samples_per_s')) FROM json_each(CAST(readfile('$OUT') AS TEXT), '\$.verdict.fixes')")
holds "no fix is above the rate without stalls" "${most:-0} > 0 && ${most:-0} <= $(json "$OUT" '$.verdict.headroom_samples_per_s')"

# What a program does between its epochs, no worker makes shorter: half of the time, of which nothing is gained.
record --workers 1 --epochs 5 --pause-ms 450
between "a program with pauses" "$(gain workers=2)" 0.1 0.35

record --workers 2 --epochs 6 --persistent
is "persistent workers start once" "$(starts)" 1
refuses "nor can they stay longer" 4 "persistent-workers cannot be predicted: no workers " "$PP" whatif "$R" --set persistent-workers=yes
record --workers 2 --epochs 6 --again
is "a loader for each epoch: its workers start" "$(starts)" 6
refuses "and cannot stay" 4 "DataLoader that lives for several epochs" "$PP" whatif "$R" --set persistent-workers=yes
record --workers 0 --epochs 3
is "without workers none start" "$(starts)" 0
refuses "and none can stay" 4 "persistent-workers cannot be predicted" "$PP" whatif "$R" --set persistent-workers=yes
refuses "a value that it is not" 2 "use persistent-workers=True" "$PP" whatif "$R" --set persistent-workers=no
done_testing
