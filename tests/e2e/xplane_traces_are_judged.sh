#!/bin/bash
# pipeprobe report on traces that jax.profiler and TensorFlow's profiler write here: the share of the wait is that of a clock around next(), and tf.data's time
# is where it was put. JAX takes 300 MB and TensorFlow 1 GB: they are taken from build/venvs/jax and build/venvs/tensorflow, which PIPEPROBE_TEST_XPLANE=1
# makes from PyPI. What they wrote once is in tests/recordings, for the unit test.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
PYTHON=${PIPEPROBE_TEST_PYTHON:-/usr/bin/python3}
export JAX_PLATFORMS=cpu TF_CPP_MIN_LOG_LEVEL=3 CUDA_VISIBLE_DEVICES=
share() { json "$1" '$.data_wait_share'; }
made() { # NAME PACKAGE: 1 where it is there; says why not
    dir=${VENVS:-$PWD/build/venvs}/$1
    [ -e "$dir/complete" ] && return
    [ -n "${PIPEPROBE_TEST_XPLANE:-}" ] || { skip "$1" "it is not in $dir; PIPEPROBE_TEST_XPLANE=1 puts it there"; return 1; }
    { timeout 500 python3 -m pip --python "$PYTHON" install -q --retries 0 --only-binary :all: --target "$dir" "$2" && touch "$dir/complete"; } >"$T/pip" 2>&1 && return
    rm -rf "$dir"
    skip "$1" "it cannot be had: $(tail -n 1 "$T/pip" | cut -c1-100)"
    return 1
}
judge() { # NAME JOB ARGUMENT...: runs the job, and its trace's report is in $T/NAME.report
    local name=$1 job=$2
    shift 2
    PYTHONPATH=$dir run timeout 200 "$PYTHON" "tests/jobs/$job" "$T/$name" "$@"
    is "$name: the job ran" "$rc" 0
    tail -n 1 "$OUT" >"$T/$name.truth"
    truth=$(sqlite3 :memory: "SELECT json_extract(CAST(readfile('$T/$name.truth') AS TEXT), '\$.wait_s') / json_extract(CAST(readfile('$T/$name.truth') AS TEXT), '\$.step_s')")
    run "$PP" report "$(find "$T/$name" -name '*.xplane.pb')" --json
    cp "$OUT" "$T/$name.report"
    echo "# $name: clock $truth, trace $(share "$T/$name.report")"
    is "$name: all steps are there" "$(json "$T/$name.report" '$.batches')" "$(($(json "$T/$name.truth" '$.steps') + 1))"
    is "$name: no cause is made up" "$(json "$T/$name.report" '$.verdict.l1')" ""
}
agrees() { holds "$1: the share is that of the clock, within 2 points" "$(share "$T/$1.report") - $truth <= 0.02 && $truth - $(share "$T/$1.report") <= 0.02"; }

if made jax jax==0.10.2; then
    judge slow jax_profiled.py 20 30
    agrees slow
    judge fast jax_profiled.py 0 30
    agrees fast
fi
if made tensorflow tensorflow-cpu==2.21.0; then
    judge loop tensorflow_profiled.py 4 10
    agrees loop
    like "loop: the sleep in map() is the time of transforms" "$(json "$T/loop.report" '$.verdict.reason')" 'transforms 9'
    judge graph tensorflow_profiled.py 4 20 graph
    holds "graph: waits of the executor are the trainer's" "$(share "$T/graph.report") > 0.1 && $(share "$T/graph.report") <= $truth + 0.02"
fi
done_testing
