#!/bin/bash
# Samples of a Compose's members name the member, with and without workers, and no code of the job's runs for it.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
PYTHON=${PYTHON:-/usr/bin/python3} R=$T/run.sqlite
[ -e "$BUILD/python/attach/_pipeprobe.abi3.so" ] || skip_all "the extension is not built: no Python.h"
imports "$PYTHON" 'torch, torchvision' || skip_all "$PYTHON has no torch and torchvision"
[ "$(cat /proc/sys/kernel/yama/ptrace_scope 2>/dev/null || echo 0)" -lt 2 ] || skip_all "kernel.yama.ptrace_scope forbids it"

for workers in 2 0; do
    run timeout 120 "$PP" exec -q -f --lines 25 -o "$R" -- "$PYTHON" tests/jobs/composed.py 7 $workers
    is "$workers workers: exit status" "$rc" 0
    is "$workers workers: the members" "$(sql "$R" "SELECT group_concat(path || ' ' || class || '(' || arguments || ')', '; ') FROM (SELECT * FROM stack_op WHERE path LIKE 'dataset.%' ORDER BY length(path), path)")" \
        "dataset.dataset.transform Compose(); dataset.dataset.transform.transforms[0] Loop(strength=1200); dataset.dataset.transform.transforms[1] partial(); dataset.dataset.transform.transforms[2] Nap(strength=0.004); dataset.dataset.transform.transforms[3] Identity(); dataset.dataset.transform.transforms[4] <lambda>(); dataset.dataset.transform.transforms[1].func scaled()"
    is "$workers workers: no word of what members hold" "$(grep -c password "$R")" 0
    loop=$(sql "$R" "SELECT samples FROM v_stack_op WHERE class = 'Loop'") nap=$(sql "$R" "SELECT samples FROM v_stack_op WHERE class = 'Nap'")
    named=$(sql "$R" "SELECT sum(samples) FROM v_stack_op WHERE path GLOB '*transforms?[0-9]]'")
    in_compose=$(sql "$R" "SELECT max(samples) FROM v_stack_line WHERE function IN ('Compose.__call__', '__call__') AND file LIKE '%torchvision/transforms/transforms.py'")
    p=$(sed -n 's/^Loop //p' "$OUT")
    check "$workers workers: Loop has $loop, Nap $nap; truly $p" awk "BEGIN { n = $loop + $nap; d = $loop / n - $p; d = d < 0 ? -d : d; exit !(n >= 60 && d < 0.02 + 3 * sqrt($p * (1 - $p) / n)) }"
    check "$workers workers: $named of $in_compose samples name their member" [ $((named * 100)) -ge $((in_compose * 95)) ]
done
done_testing
