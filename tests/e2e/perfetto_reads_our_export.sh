#!/bin/bash
# --to perfetto before the reference decoder: the protos of the Python package "perfetto" (PyPI; PERFETTO_PYTHON names an interpreter that
# has it). Where trace_processor_shell is at hand, its importer too: no event dropped, slices as recorded.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
MAKE_RUN=$BUILD/tests/tools/make_run
need_built helpers "$MAKE_RUN"
python=${PERFETTO_PYTHON:-python3}

"$MAKE_RUN" "$T/run.sqlite" --batches 50 --lossy --overlap || exit 1
run "$PP" export "$T/run.sqlite" --to perfetto
is "exported" "$rc" 0

if "$python" -c 'from perfetto.protos.perfetto.trace import perfetto_trace_pb2' 2>/dev/null; then
    run "$python" tests/e2e/perfetto_reads_our_export.py "$T/run.pftrace"
    is "the reference decoder reads it" "$rc" 0
    while read -r name got want; do is "$name" "$got" "$want"; done <"$OUT"
else
    skip "the reference decoder reads it" "the Python package perfetto is not installed"
fi

# A run on the fake device, whose fake CUPTI told what it did: every row of table gpu is one slice, on a track under what it belongs to.
FAKES=$PWD/$BUILD/tests/fake
run env LD_LIBRARY_PATH="$FAKES" "$PP" run --synthetic n=400,size=64x64 --transform rrc:32,normalize=imagenet --workers 2 --batch-size 8 --steps 40 --step cuda:2ms --wire u8 --sync-every-step --quiet \
    --force -o "$T/gpu.sqlite"
run "$PP" export "$T/gpu.sqlite" --to perfetto
is "gpu: exported" "$rc" 0
like "gpu: and counted" "$(cat "$ERR")" "$(sql "$T/gpu.sqlite" "SELECT count(*) FROM gpu") rows of GPU activity"
category="CASE kind WHEN 'memcpy' THEN 'gpu_memcpy' WHEN 'memset' THEN 'gpu_memset' WHEN 'api' THEN 'cuda_driver' WHEN 'sync' THEN 'cuda_sync' ELSE kind END"
sql "$T/gpu.sqlite" "SELECT $category, count(*), sum(dur_ns), coalesce(sum(bytes), 0) FROM gpu GROUP BY 1 ORDER BY 1" >"$T/want"
run "$PP" export "$T/gpu.sqlite" --to chrome
sqlite3 :memory: "SELECT value ->> 'cat' AS c, count(*), CAST(round(sum(value ->> 'dur') * 1000) AS INTEGER), coalesce(sum(value -> 'args' ->> 'bytes'), 0)
    FROM json_each(CAST(readfile('$T/gpu.trace.json') AS TEXT), '$.traceEvents') WHERE value ->> 'ph' = 'X' AND c NOT IN ('work', 'wait', 'work,error') GROUP BY c ORDER BY c" >"$T/got"
check "gpu: Chrome has each row once, with its length and bytes" diff "$T/want" "$T/got"
if "$python" -c 'from perfetto.protos.perfetto.trace import perfetto_trace_pb2' 2>/dev/null; then
    run "$python" tests/e2e/perfetto_reads_our_export.py "$T/gpu.pftrace" "$T/want"
    is "gpu: the reference decoder reads it" "$rc" 0
    while read -r name got want; do is "gpu: $name" "$got" "$want"; done <"$OUT"
else
    skip "gpu: the reference decoder reads it" "the Python package perfetto is not installed"
fi

shell=$(command -v trace_processor_shell || command -v trace_processor)
if [ -n "$shell" ]; then
    echo "SELECT count(*), sum(dur) FROM slice WHERE dur > 0; SELECT count(*) FROM stats WHERE severity = 'error' AND value > 0; SELECT count(*) FROM flow" >"$T/query"
    run "$shell" -q "$T/query" "$T/run.pftrace"
    is "trace_processor: slices, errors, flows" "$(grep -E '^[0-9]' "$OUT" | tr '\n' ' ')" "350,145000000 0 100 "
else
    skip "trace_processor imports it" "no trace_processor_shell on the path"
fi
done_testing
