#!/bin/bash
# The extension that records Python jobs, called as no hook calls it, while other processes overwrite its files: the job keeps its exit status, and the recording is whole.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
PYTHON=${PYTHON:-/usr/bin/python3}
HOOKS=$PWD/$BUILD/python/attach
[ -e "$HOOKS/_pipeprobe.abi3.so" ] || skip_all "the extension is not built: no Python.h"

for seed in 1 2 $RANDOM; do
    run timeout 120 "$PP" exec -q --force -o "$T/r.sqlite" -- "$PYTHON" -X faulthandler tests/jobs/odd_calls.py "$HOOKS" "$seed"
    is "seed $seed: the exit status is the job's" "$rc" 7
    is "seed $seed: the recording is whole" "$(sql "$T/r.sqlite" 'PRAGMA integrity_check')" ok
    check "seed $seed: no crash" bash -c "! grep -qiE 'sanitizer|fatal python error|segmentation|core dumped' '$ERR'"
    is "seed $seed: nothing else is left" "$(ls -d "$T"/r.sqlite*)" "$T/r.sqlite"
done
like "what is not a process's file is counted" "$(sql "$T/r.sqlite" "SELECT what || ' ' || why FROM loss WHERE what IN ('processes', 'loaders')")" "processes their files .* incomplete or damaged"
done_testing
