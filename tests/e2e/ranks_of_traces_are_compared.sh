#!/bin/bash
# pipeprobe ranks on a directory of traces that torch.profiler wrote here, one of each rank of a data-parallel job (gloo, 3 ranks): the late rank is named from
# the durations of collectives alone, and what makes it late. And what other commands say of a trace that is no recording.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
for PYTHON in ${PIPEPROBE_TEST_PYTHON:-/usr/bin/python3 python3}; do
    "$PYTHON" -c 'import torch.distributed as d; assert d.is_available()' 2>/dev/null && break
    PYTHON=
done
mkdir "$T/tmp"
started=()
export TMPDIR=$T/tmp

# ---- what is no recording

printf '[\n{"id":0,"name":"HH","cat":"dftra' >"$T/tiny.pfw"
refuses "a trace that is cut inside of its first event" 4 "tiny.pfw is cut inside of its first event" "$PP" report "$T/tiny.pfw"
refuses "import says the same" 4 "tiny.pfw is cut inside of its first event" "$PP" import "$T/tiny.pfw" -o "$T/x.sqlite"
gzip -k "$T/tiny.pfw"
refuses "zipped too" 4 "tiny.pfw.gz is cut inside of its first event" "$PP" report "$T/tiny.pfw.gz"
echo hello >"$T/words.pfw"
refuses "what is neither recording nor trace" 4 "words.pfw is neither a recording of pipeprobe.* nor a trace" "$PP" report "$T/words.pfw"
echo '{"traceEvents": [{"ph": "X", "name": "a", "ts": 1, "dur": 1, "pid": 1, "tid": 1}]}' >"$T/some.json"
for command in 'whatif --set workers=4' 'export --to csv' metrics 'top --once' "compare $T/some.json"; do
    # shellcheck disable=SC2086
    refuses "${command%% *} of a trace" 4 "some.json is a trace of another profiler .torch.profiler.*pipeprobe report judges it" "$PP" $command "$T/some.json"
done
mkdir "$T/one"
cp "$T/some.json" "$T/one/"
refuses "traces have no samples to audit" 4 "do not say which samples were used" "$PP" ranks --audit "$T/one"
if [ -z "$PYTHON" ]; then
    skip "the late rank among three" "no python3 with torch.distributed"
    done_testing
fi

# ---- real traces

mkdir -p "$T/job/traces"
for rank in 0 1 2; do
    RANK=$rank WORLD_SIZE=3 timeout 200 "$PYTHON" tests/jobs/profiled_ranks.py "$T/job/traces" 24 --slow-input 1 >"$T/job/out.$rank" 2>&1 &
    started[rank]=$!
done
wait "${started[@]}"
is "each rank wrote a trace" "$(ls "$T/job/traces")" "$(printf 'job_rank%d.pt.trace.json\n' 0 1 2)"
run "$PP" ranks "$T/job/traces"
is "a verdict" "$rc" 0
like "the rank whose input is slow is named" "$(cat "$OUT")" 'Rank 1 .*is the straggler: last in .* of 2[0-9] steps'
run "$PP" ranks "$T/job/traces" --json
is "as JSON too" "$(json "$OUT" '$.kind') $(json "$OUT" '$.straggler_rank') $(json "$OUT" '$.cause')" "rank-straggler 1 data_wait"
like "with the trace that shows more" "$(json "$OUT" '$.next_step')" 'pipeprobe report .*job_rank1.pt.trace.json'
like "and what durations of collectives are" "$(json "$OUT" '$.note')" 'time of collectives inside of a step'
run "$PP" merge "$T/job/traces" -o "$T/job.digest"
run "$PP" ranks "$T/job.digest" --json
is "traces merge into a digest" "$(json "$OUT" '$.straggler_rank')" 1
is "nothing is left behind" "$(ls -A "$T/tmp")" ""
done_testing
