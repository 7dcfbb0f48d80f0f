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
    run "$python" tests/e2e/export_perfetto.py "$T/run.pftrace"
    is "the reference decoder reads it" "$rc" 0
    while read -r name got want; do is "$name" "$got" "$want"; done <"$OUT"
else
    skip "the reference decoder reads it" "the Python package perfetto is not installed"
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
