#!/bin/bash
# pipeprobe report on traces that jax.profiler writes here: the share of the wait is that of a clock around next(). JAX takes 300 MB: it is taken from
# build/venvs/jax, which PIPEPROBE_TEST_JAX=1 makes from PyPI.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
PYTHON=${PIPEPROBE_TEST_PYTHON:-/usr/bin/python3}
dir=${VENVS:-$PWD/build/venvs}/jax
if [ ! -e "$dir/complete" ]; then
    [ -n "${PIPEPROBE_TEST_JAX:-}" ] || skip_all "JAX is not in $dir; PIPEPROBE_TEST_JAX=1 puts it there"
    if ! { timeout 500 python3 -m pip --python "$PYTHON" install -q --retries 0 --only-binary :all: --target "$dir" jax==0.10.2 && touch "$dir/complete"; } >"$T/pip" 2>&1; then
        rm -rf "$dir"
        skip_all "JAX cannot be had: $(tail -n 1 "$T/pip" | cut -c1-100)"
    fi
fi
share() { json "$1" '$.data_wait_share'; }
for row in slow:20:30 fast:0:30; do
    IFS=: read -r name wait step <<<"$row"
    PYTHONPATH=$dir JAX_PLATFORMS=cpu run timeout 100 "$PYTHON" tests/jobs/jax_profiled.py "$T/$name" "$wait" "$step"
    is "$name: the job ran" "$rc" 0
    truth=$(sqlite3 :memory: "SELECT json_extract(CAST(readfile('$OUT') AS TEXT), '\$.wait_s') / json_extract(CAST(readfile('$OUT') AS TEXT), '\$.step_s')")
    run "$PP" report "$(find "$T/$name" -name '*.xplane.pb')" --json
    cp "$OUT" "$T/$name.report"
    echo "# $name: clock $truth, trace $(share "$T/$name.report")"
    holds "$name: the share is that of the clock, within 2 points" "$(share "$T/$name.report") - $truth <= 0.02 && $truth - $(share "$T/$name.report") <= 0.02"
    is "$name: all steps are there, and no cause is made up" "$(json "$T/$name.report" '$.batches') $(json "$T/$name.report" '$.verdict.l1')" "15 "
done
done_testing
