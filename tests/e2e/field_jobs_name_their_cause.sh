#!/bin/bash
# Six of the field jobs (tests/field) under Debian's PyTorch: three faults are named with their remedy, and three jobs whose loader keeps up are not blamed on it.
# alone
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
PYTHON=${PYTHON:-/usr/bin/python3}
[ -e "$PWD/$BUILD/python/attach/_pipeprobe.abi3.so" ] || skip_all "the extension is not built: no Python.h"
imports "$PYTHON" 'torch, PIL' || skip_all "$PYTHON has no torch and PIL"

run timeout 280 "$PYTHON" tests/field/run.py --build "$PWD/$BUILD" --python "$PYTHON" --data "$T/data" --keep "$T" --results "$T/results.json" --seconds 6 --no-gain \
    '^(iterator_per_step|workers_read_an_index|model_is_the_cost|item_in_each_step|dataset_(made|cheap)_each_epoch)$'
is "the six jobs ran" "$rc $(json "$T/results.json" '$.failed')" "0 []"
for n in 0 1 2 3 4 5; do
    at="\$.results[$n]"
    name="$(json "$T/results.json" "$at.job") ($(json "$T/results.json" "$at.codes"))"
    if [ "$(json "$T/results.json" "$at.kind")" = control ]; then
        # A machine that is busy with something else may leave the step without a CPU: that is said, and is no fault of the loader.
        is "$name: its loader is not blamed" "$(json "$T/results.json" "$at.false_input_bound")" 0
    else
        is "$name: the cause" "$(json "$T/results.json" "$at.cause")" full
        is "$name: the first screen leads to the fix" "$(json "$T/results.json" "$at.fix")" 1
    fi
done
done_testing
