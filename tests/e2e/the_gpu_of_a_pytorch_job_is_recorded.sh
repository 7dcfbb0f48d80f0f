#!/bin/bash
# A PyTorch job that uses the GPU, on the stand-ins of driver and CUPTI: its copies and kernels are in the recording, each with its batch, on the clock of
# the spans; what cannot be recorded is said, and the job does what it does without pipeprobe.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
PYTHON=${PYTHON:-/usr/bin/python3} FAKES=$PWD/$BUILD/tests/fake JOB=$PWD/tests/jobs/on_gpu.py R=$T/run.sqlite
need_built helpers "$FAKES/libcuda.so.1"
[ -e "$BUILD/python/attach/_pipeprobe.abi3.so" ] || skip_all "the extension is not built: no Python.h"
imports "$PYTHON" torch || skip_all "$PYTHON has no torch"
# NVIDIA's own CUPTI, which torch's wheels bring, crashes beside a driver that is a stand-in, with pipeprobe or without.
"$PYTHON" -c 'import sys, torch; sys.exit(torch.version.cuda is not None)' || skip_all "the torch of $PYTHON brings a CUPTI of its own"

meta() { sql "$R" "SELECT value FROM meta WHERE section = '$1' AND key = '$2'"; }
cupti="" options=() plain=none
# recorded NAME ARGUMENTS...: with the words in $cupti for CUPTI, and exec's own $options. The job is none the wiser.
recorded() {
    local name=$1
    shift
    if [ "$*" != "$plain" ]; then # else as before
        LD_LIBRARY_PATH=$FAKES "$PYTHON" "$JOB" "$@" >"$T/plain.out" 2>"$T/plain.err"
        is "$name: the job works without pipeprobe" "$?" 0
        plain=$*
    fi
    run timeout 240 env LD_LIBRARY_PATH="$FAKES" PP_FAKE_CUPTI="$cupti" "$PP" exec -q --force "${options[@]}" -o "$R" -- "$PYTHON" "$JOB" "$@"
    is "$name: exit status, output" "$rc $(cat "$OUT")" "0 $(cat "$T/plain.out")"
    is "$name: standard error" "$(grep -v '^STAGE:\|^\[W' "$ERR")" "$(grep -v '^STAGE:\|^\[W' "$T/plain.err")"
    is "$name: the hooks stayed on" "$(sql "$R" "SELECT value FROM meta WHERE section = 'process_note'")" ""
}
# The rows of a job of 40 batches: a copy, two kernels and three calls each.
rows="SELECT kind, count(*) FROM gpu WHERE kind <> 'overhead' AND name IS NOT 'cuStreamSynchronize' GROUP BY kind ORDER BY kind"
whole="api|120 kernel|80 memcpy|40 "

recorded "a job"
like "a job: who records it" "$(meta gpu activity)" "^CUPTI of .*libcupti[.]so[.]13, interface 130001, in the job$"
is "a job: all that it did" "$(sql "$R" "$rows" | tr '\n' ' ')" "$whole"
is "a job: each with its batch" "$(sql "$R" "SELECT count(DISTINCT batch), min(n), max(n) FROM (SELECT batch, count(*) AS n FROM v_gpu WHERE kind IN ('memcpy', 'kernel') GROUP BY batch)")" "40|3|3"
is "a job: called within the step of that batch" "$(sql "$R" "SELECT count(*) FROM v_gpu g JOIN v_span s ON s.batch = g.batch AND s.phase = 'step'
    WHERE g.kind = 'api' AND g.name <> 'cuStreamSynchronize' AND (g.start_ns < s.start_ns OR g.start_ns > s.start_ns + s.dur_ns)")" 0
is "a job: kernels of two threads" "$(sql "$R" "SELECT count(DISTINCT a.thread) > 1 FROM gpu k JOIN gpu a ON a.kind = 'api' AND a.correlation = k.correlation WHERE k.kind = 'kernel'")" 1
is "a job: device, memory, losses" "$(meta environment gpu), $(sql "$R" "SELECT DISTINCT source FROM gpu WHERE kind = 'memcpy'"), $(meta gpu records_dropped), $(meta gpu clock_error_ns)" "Fake GPU 0, pinned, 0, 0"
check "a job: nothing is left in the session" test ! -e "$R.rings"

cupti="clock=1;drift-ppm=40" recorded "another clock"
is "another clock: times are converted" "$(meta gpu clock), $(sql "$R" "SELECT count(*) >= 2 FROM gpu_clock")" "converted, see gpu_clock, 1"
is "another clock: called within the step of that batch, to 1 ms" "$(sql "$R" "SELECT count(*) FROM v_gpu g JOIN v_span s ON s.batch = g.batch AND s.phase = 'step'
    WHERE g.kind = 'api' AND g.name <> 'cuStreamSynchronize' AND (g.start_ns < s.start_ns - 1000000 OR g.start_ns > s.start_ns + s.dur_ns + 1000000)")" 0

# What others have is left to them.
cupti="subscribe=39" recorded "another profiler was there first"
like "another profiler was there first: is said" "$(meta gpu activity)" "^not recorded: another profiler owns CUPTI .*cuptiSubscribe"
is "another profiler was there first: no row" "$(sql "$R" "SELECT count(*) FROM gpu")" 0
run "$PP" report "$R" --full
like "another profiler was there first: NOT MEASURED" "$(cat "$OUT")" "NOT MEASURED: not recorded: another profiler owns CUPTI"
cupti="enable=35" recorded "no rights"
like "no rights: is said" "$(meta gpu activity)" "^not recorded: .*NVreg_RestrictProfilingToAdminUsers"
is "no rights: no row" "$(sql "$R" "SELECT count(*) FROM gpu")" 0
run "$PP" report "$R" --full
like "no rights: NOT MEASURED" "$(cat "$OUT")" "NOT MEASURED: not recorded: "
options=(--gpu-records 60)
recorded "a limit"
is "a limit: as many rows" "$(sql "$R" "SELECT count(*) FROM gpu")" 60
options=()

# Without CUPTI, and without CUDA.
mkdir "$T/bare"
ln -s "$FAKES/libcuda.so.1" "$T/bare/"
if ldconfig -p | grep -q 'libcupti[.]so' || [ -e /usr/local/cuda/lib64/libcupti.so ]; then skip "no CUPTI" "this machine has one"
else
    FAKES=$T/bare recorded "no CUPTI"
    like "no CUPTI: is said" "$(meta gpu activity)" "^not recorded: CUPTI .*is not installed"
fi

# Waits for data of 8 ms and more, kernels of 1 ms.
recorded "a slow loader" --sample-ms 8 --sync
run "$PP" report "$R" --json
is "a slow loader: measured" "$(json "$OUT" '$.gpu.not_measured'), $(json "$OUT" '$.gpu.pageable_share')" ", 0"
like "a slow loader: the GPU idles in the wait" "$(json "$OUT" '$.gpu.idle_in_wait_ns')" "^[0-9]{7,}"
holds "a slow loader: and for most of the time" "$(json "$OUT" '$.gpu.busy_share') < 0.5 && $(json "$OUT" '$.gpu.idle.waiting_for_data_share') > 0.3"
holds "a slow loader: no copy hides behind a kernel" "$(json "$OUT" '$.gpu.exposed_copy_ns') > 0 && $(json "$OUT" '$.gpu.copy_overlap_share') < 0.5"
holds "a slow loader: kernels of two threads are the step's" "$(json "$OUT" '$.gpu.kernel_ns') > 900000"
run "$PP" report "$R" --full
like "a slow loader: in the text" "$(cat "$OUT")" "GPU idle in the data wait, per step"

recorded "pageable memory, no workers, a child that takes batches" --pageable --workers 0 --fork
is "pageable memory, no workers, a child: all that it did" "$(sql "$R" "$rows" | tr '\n' ' ')" "$whole"
run "$PP" report "$R" --json
is "pageable memory, no workers, a child: is seen" "$(json "$OUT" '$.gpu.pageable_share')" 1
# Batches come in time, copies of 20 ms from pageable memory wait for kernels of 40 ms: a step of 60 ms, from pinned memory one of 40.
PP_FAKE_CUDA=pageable=0.0131 recorded "copies block the steps" --pageable --kernel-ms 40 --samples 240 --sample-ms 0
run "$PP" report "$R" --json
is "copies block the steps: the verdict" "$(json "$OUT" '$.verdict.l0'), $(json "$OUT" '$.verdict.l1'), $(json "$OUT" '$.verdict.l2')" "input-bound, sync, pageable"
like "copies block the steps: what to paste" "$(json "$OUT" '$.verdict.python')" "pin_memory=True"
run "$PP" whatif "$R" --set pinned=yes --json
holds "copies block the steps: most of the gain of 50 % is predicted, and no more" "$(json "$OUT" '$.predictions[0].gain') > 0.25 && $(json "$OUT" '$.predictions[0].gain') < 0.55"
PP_FAKE_CUDA=pageable=0.0131 recorded "the same copies from pinned memory" --kernel-ms 40 --samples 240 --sample-ms 0 --sync
run "$PP" report "$R" --json
holds "the same copies from pinned memory: are not the cause" "$(json "$OUT" '$.verdict.l2' | grep -c pageable) == 0"
run "$PP" whatif "$R" --set pinned=yes --json
holds "the same copies from pinned memory: no gain is predicted" "$(json "$OUT" '$.predictions[0].gain') < 0.03"

recorded "CUDA is used late" --late 20 --samples 400
holds "CUDA is used late: from there on, or a little later" "$(sql "$R" "SELECT min(batch) FROM v_gpu WHERE kind = 'memcpy'") >= 20 && $(sql "$R" "SELECT count(*) FROM v_gpu WHERE kind = 'memcpy'") >= 60"

# The job's own profiler has CUPTI, whenever it comes.
recorded "the job's own profiler, later" --profile 20
like "the job's own profiler, later: has CUPTI" "$(meta gpu activity)" "in the job; until CUPTI was needed by PyTorch's profiler"
is "the job's own profiler, later: rows up to there" "$(sql "$R" "SELECT max(batch) FROM v_gpu WHERE kind = 'memcpy'")" 19
recorded "the job's own profiler, first" --profile 0 --late 4
like "the job's own profiler, first: is left alone" "$(meta gpu activity)" "^not recorded: CUPTI is used by PyTorch's profiler"
options=(--gpu-records 0)
recorded "not asked for, no GPU" --no-gpu
is "not asked for, no GPU: nothing" "$(meta gpu activity)$(sql "$R" "SELECT count(*) FROM gpu")" 0

# A job that is profiled already when the recording begins: a block of it is recorded (pipeprobe attach has the same beginning). Its profiler keeps CUPTI.
cat >"$T/block.py" <<'P'
import sys
import torch
sys.path.insert(0, sys.argv[1])
import on_gpu, pipeprobe
path, profiled, sys.argv[1:] = sys.argv[2], len(sys.argv) > 3, []
profiler = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU])
if profiled:
    profiler.start()
with pipeprobe.record(path) as r:
    on_gpu.main()
    print("recorded", r.active)
if profiled:
    profiler.stop()
    print("ranges", len(profiler.events()) > 0)
P
block() { run timeout 240 env PATH="$PWD/$BUILD:$PATH" PYTHONPATH="$PWD/collectors/attach/package" PYTHONDONTWRITEBYTECODE=1 LD_LIBRARY_PATH="$FAKES" "$PYTHON" "$T/block.py" "$PWD/tests/jobs" "$R" "$@"; }
rm -f "$R"
block
is "a block: what the job does" "$rc $(grep -c '^batches 40 ' "$OUT") $(grep -c '^recorded True' "$OUT")" "0 1 1"
like "a block: its GPU is recorded" "$(meta gpu activity)" "^CUPTI of .*libcupti[.]so[.]13"
seen=$(grep '^batches' "$OUT")
rm -f "$R"
block profiled
is "a block of a job that is profiled: goes on, and its profiler too" "$rc $(grep '^batches\|^ranges' "$OUT" | paste -sd' ')" "0 $seen ranges True"
is "a block of a job that is profiled: is recorded" "$(sql "$R" "SELECT count(*) FROM v_span WHERE phase = 'data_wait'"), $(sql "$R" "SELECT count(*) FROM gpu")" "40, 0"
like "a block of a job that is profiled: CUPTI is its profiler's" "$(meta gpu activity)" "^not recorded: CUPTI is used by PyTorch's profiler"
run "$PP" report "$R" --full
like "a block of a job that is profiled: NOT MEASURED" "$(cat "$OUT")" "NOT MEASURED: not recorded: CUPTI is used by PyTorch's profiler"
done_testing
