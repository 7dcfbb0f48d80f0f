#!/bin/bash
# pipeprobe import and report on traces of other profilers: an export to nsys comes back with the same verdict and shares, and what torch.profiler
# records here agrees with a clock around next() in the same process.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
MAKE_RUN=$BUILD/tests/tools/make_run
need_built helpers "$MAKE_RUN"
mkdir "$T/tmp"
export TMPDIR=$T/tmp
verdict() { json "$1" '$.verdict.l0'; }
share() { json "$1" '$.data_wait_share'; }

# ---- there and back: nsys is the one format of ours that another tool writes too
"$MAKE_RUN" "$T/run.sqlite" --batches 200 || exit 1
cp tests/recordings/train.sqlite "$T/train.sqlite"
"$PP" report "$T/train.sqlite" --json >"$T/train.report"
"$PP" export "$T/train.sqlite" --to nsys -o "$T/train.nsys.sqlite" -q
"$PP" import "$T/train.nsys.sqlite" -o "$T/back.sqlite" --force -q
"$PP" report "$T/back.sqlite" --json >"$T/back.report"
is "a real job by nsys: the verdict's level is the same" "$(verdict "$T/back.report")" "$(verdict "$T/train.report")"
holds "and the stall within 1 %" "$(share "$T/train.report") > 0.05 && ($(share "$T/back.report") - $(share "$T/train.report"))^2 <= ($(share "$T/train.report") * 0.01)^2"
is "but no cause: an export has no CPUs" "$(json "$T/back.report" '$.verdict.l1')" ""
"$PP" report "$T/train.nsys.sqlite" --json >"$T/direct.report"
is "report on the trace itself says the same" "$(share "$T/direct.report")" "$(share "$T/back.report")"
"$PP" export "$T/train.sqlite" --to chrome -o "$T/own.json" -q
refuses "our own timeline" 4 "was exported by pipeprobe: report the recording" "$PP" import "$T/own.json" -o "$T/x.sqlite"
"$PP" export "$T/train.sqlite" --to perfetto -o "$T/own.pftrace" -q
refuses "and that for Perfetto" 4 "no trace of a known format" "$PP" import "$T/own.pftrace" -o "$T/x.sqlite"

# ---- a trace as it is, and zipped
{
    echo '{"schemaVersion": 1, "traceEvents": ['
    for i in $(seq 0 19); do
        echo "{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"ProfilerStep#$i\", \"pid\": 7, \"tid\": 7, \"ts\": $((i * 50000)), \"dur\": 49000},"
        echo "{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__\", \"pid\": 7, \"tid\": 7, \"ts\": $((i * 50000 + 10)), \"dur\": 20000},"
    done
    echo '{"ph": "X", "cat": "cpu_op", "name": "last", "pid": 7, "tid": 7, "ts": 1000000, "dur": 5}]}'
} >"$T/run.json"
"$PP" import "$T/run.json" -o "$T/back.sqlite" --force -q
"$PP" report "$T/back.sqlite" --json >"$T/back.report"
gzip -k "$T/run.json"
run "$PP" report "$T/run.json.gz" --json
cp "$OUT" "$T/zipped.report"
is "report takes the trace itself, zipped too" "$rc $(share "$T/zipped.report")" "0 $(share "$T/back.report")"
is "and names it, not its temporary recording" "$(json "$T/zipped.report" '$.file')" "$T/run.json.gz"
is "nothing is left behind" "$(ls -A "$T/tmp")" ""

# ---- refused, with nothing written
refuses "an output that is there" 2 "back.sqlite already exists" "$PP" import "$T/run.json" -o "$T/back.sqlite"
run "$PP" import "$T/run.json" -o "$T/back.sqlite" --force --quiet
is "--force replaces it, --quiet says nothing" "$rc $(wc -c <"$ERR")" "0 0"
refuses "no trace" 2 "no trace given" "$PP" import
refuses "a trace that is not there" 2 "nowhere.json" "$PP" import "$T/nowhere.json" -o "$T/x.sqlite"
refuses "a recording" 4 "is a recording already: pipeprobe report" "$PP" import "$T/run.sqlite" -o "$T/x.sqlite"
echo '{"a": 1}' >"$T/other.json"
refuses "JSON of another kind" 4 "no trace of a known format. Known are" "$PP" import "$T/other.json" -o "$T/x.sqlite"
: >"$T/empty.json"
refuses "an empty file" 4 "empty.json is empty" "$PP" import "$T/empty.json" -o "$T/x.sqlite"
mkdir "$T/none"
echo text >"$T/none/notes.txt"
refuses "a directory without a trace" 2 "none holds no trace of a known format" "$PP" import "$T/none" -o "$T/x.sqlite"
is "none of these wrote anything" "$(ls "$T" | grep -c '^x.sqlite')" 0

# ---- memory does not grow with the trace: BIG_MIB (256) of JSON, which is one MiB of operators again and again between steps
if command -v python3 >/dev/null; then
    python3 - "$T/big.json.gz" "${BIG_MIB:-256}" <<'PY'
import gzip, json, sys
def event(name, ts, dur, cat="user_annotation"):
    return json.dumps({"ph": "X", "cat": cat, "name": name, "pid": 7, "tid": 7, "ts": ts, "dur": dur, "args": {"Ev Idx": ts}}) + ",\n"
steps = "".join(event("ProfilerStep#%d" % i, i * 50000, 49000) + event("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", i * 50000 + 10, 20000) for i in range(20))
operators = "".join(event("aten::add_%d" % (i % 50), i * 7 % 900000, 5, "cpu_op") for i in range(8000))
operators = gzip.compress(operators[:operators.rfind("\n", 0, 1 << 20) + 1].encode(), 1)
with open(sys.argv[1], "wb") as f:
    f.write(gzip.compress(('{"schemaVersion": 1, "traceEvents": [\n' + steps).encode()))
    for _ in range(int(sys.argv[2])):
        f.write(operators)
    f.write(gzip.compress((event("last", 1000000, 5).rstrip(",\n") + "]}").encode()))
PY
    run python3 -c 'import resource, subprocess, sys
code = subprocess.run(sys.argv[1:]).returncode
print("peak_kib", resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(code)' "$PP" import "$T/big.json.gz" -o "$T/big.sqlite" --quiet
    is "a trace of ${BIG_MIB:-256} MiB is imported, with its steps" "$rc $(sql "$T/big.sqlite" "SELECT count(*) FROM v_span WHERE phase = 'step'")" "0 20"
    grep peak_kib "$OUT" | note
    holds "in less than 200 MiB" "$(awk '/^peak_kib/ { print $2 }' "$OUT") < 200 * 1024"
    rm -f "$T/big.json.gz" "$T/big.sqlite"
else
    skip "memory does not grow with the trace" "python3 is not installed"
fi

# ---- torch.profiler
for PYTHON in ${PIPEPROBE_TEST_PYTHON:-/usr/bin/python3 python3}; do
    imports "$PYTHON" torch && break
    PYTHON=
done
if [ -z "$PYTHON" ]; then
    skip "torch.profiler: shares against a clock" "no python3 with torch"
    done_testing
fi
mkdir "$T/ranks"
for row in workers:2:40:40 alone:0:10:40; do
    IFS=: read -r name workers sample step <<<"$row"
    run "$PYTHON" tests/jobs/profiled.py "$T/$name.pt.trace.json" "$workers" "$sample" "$step"
    is "$name: the job ran" "$rc" 0
    cp "$OUT" "$T/truth"
    truth=$(sqlite3 :memory: "SELECT json_extract(CAST(readfile('$T/truth') AS TEXT), '\$.wait_s') / json_extract(CAST(readfile('$T/truth') AS TEXT), '\$.step_s')")
    run "$PP" report "$T/$name.pt.trace.json" --json
    cp "$OUT" "$T/$name.report"
    got=$(share "$T/$name.report")
    echo "# $name: clock $truth, trace $got"
    holds "$name: the share is that of the clock, within 2 points" "$got - $truth <= 0.02 && $truth - $got <= 0.02"
    is "$name: all steps are there" "$(json "$T/$name.report" '$.batches')" 14
    is "$name: never storage, never transform" "$(json "$T/$name.report" "\$.verdict.l1" | grep -c 'storage\|transform')" 0
done
is "a loader without workers is named" "$(json "$T/alone.report" '$.verdict.l0') $(json "$T/alone.report" '$.verdict.l1') $(json "$T/alone.report" '$.verdict.l2')" \
    "input-bound loader in-trainer"
is "one with workers is input-bound for a reason that the trace does not show" "$(json "$T/workers.report" '$.verdict.l0') $(json "$T/workers.report" '$.verdict.l1')" "input-bound "
like "and the report says how to see it" "$(json "$T/workers.report" '$.verdict.next_step')" 'pipeprobe exec -- python train.py'
like "and that workers are missing" "$(json "$T/workers.report" '$.losses')" 'sees no worker process'

# ---- several ranks
cp "$T/workers.pt.trace.json" "$T/ranks/job_rank-0.pt.trace.json"
gzip -c "$T/alone.pt.trace.json" >"$T/ranks/job_rank-1.pt.trace.json.gz"
run "$PP" import "$T/ranks" -o "$T/job.sqlite"
is "a directory of two ranks" "$rc $(ls "$T" | grep -c '^job-rank000[01].sqlite$')" "0 2"
is "each knows its rank" "$(sql "$T/job-rank0001.sqlite" "SELECT group_concat(value, ' ') FROM (SELECT value FROM meta WHERE section = 'rank' AND key IN ('rank', 'world_size') ORDER BY key)")" "1 2"
cp "$T/ranks/job_rank-0.pt.trace.json" "$T/ranks/again_rank0.json"
refuses "two traces of one rank" 2 "are both of rank 0" "$PP" import "$T/ranks" -o "$T/twice.sqlite"
done_testing
