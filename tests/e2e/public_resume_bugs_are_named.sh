#!/bin/bash
# Two of the jobs of `make resume-jobs` (tests/resume): the culprit, the first batch that differs and the numbers of samples are those that the job itself logged,
# and with the fix the resume is exact.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
PYTHON=${PYTHON:-/usr/bin/python3}
if [ ! -e "$BUILD/python/attach/_pipeprobe.abi3.so" ]; then skip "public bugs" "the extension is not built: no Python.h"; done_testing; fi
if ! imports "$PYTHON" torch; then skip "public bugs" "$PYTHON has no torch"; done_testing; fi

for name in random_state_saved:next-epoch position_in_samples:partial-batch; do
    run env PYTHON="$PYTHON" timeout 280 python3 tests/resume/run.py "$name" --keep "$T/$name"
    like "$name" "$rc $(cat "$OUT" "$ERR" | tr '\n' ' ')" '^0 right .* bug .*right .* fix .*2 of 2 right'
done
done_testing
