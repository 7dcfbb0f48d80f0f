#!/bin/bash
# A recorded job that is killed with SIGKILL at a random moment, pipeprobe and all, leaves the whole order of its samples in the recording: five of the kills of
# `make order-kills`. And recording changes neither order nor bytes of what a job trains on: one of the jobs of `make resume-untouched`. PYTHON: the interpreter.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
PYTHON=${PYTHON:-/usr/bin/python3}
if [ ! -e "$BUILD/python/attach/_pipeprobe.abi3.so" ]; then skip_all "the extension is not built: no Python.h"; fi
if ! imports "$PYTHON" torch; then skip_all "$PYTHON has no torch"; fi
run env PYTHON="$PYTHON" timeout 180 python3 tests/resume/order_kills.py 5
like "orders are complete" "$rc $(cat "$OUT" "$ERR")" "^0 5 of 5 orders complete behind SIGKILL, [0-9]+ batches"
run env PYTHON="$PYTHON" timeout 100 python3 tests/resume/run.py --untouched flips_in_workers
like "recording changes neither order nor content" "$rc $(cat "$OUT" "$ERR")" "^0 right .* 75 batches, 75 of their own content, 1 recordings"
done_testing
