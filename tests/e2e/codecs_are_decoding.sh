#!/bin/bash
# Time in a decoder of sound, video, arrays or tables is decode, and no transform: every function that the recorder knows, by stand-ins of the same names.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
PYTHON=${PYTHON:-/usr/bin/python3}
[ -e "$BUILD/python/attach/_pipeprobe.abi3.so" ] || skip_all "the extension is not built: no Python.h"
imports "$PYTHON" torch || skip_all "$PYTHON has no torch"
mkdir "$T/modules"
run timeout 120 "$PP" exec -q -o "$T/c.sqlite" -- "$PYTHON" tests/jobs/decoders.py "$T/modules"
is "the job ends well" "$rc $(grep -c . "$ERR")" "0 0"
read -r functions samples <"$OUT"
holds "functions were tried" "${functions:-0} >= 20"
is "each sample of each has its decode" "$(sql "$T/c.sqlite" "SELECT count(*) FROM v_span WHERE phase = 'decode' AND dur_ns >= 900000")" "$samples"
is "no decoder was left out" "$(sql "$T/c.sqlite" "SELECT count(*) FROM meta WHERE section = 'process_note' AND value LIKE '%decoding%'")" 0
run "$PP" report --json "$T/c.sqlite"
judged like "and that is what is waited for" "$(json "$OUT" '$.verdict.parts')" "^decode"
done_testing
