#!/bin/bash
# Exports before the real Nsight Systems: nsys stats and nsys analyze on --to nsys. nsys exits with 0 whatever
# happens, so its output is what is judged. Debian has it in non-free: installed here when we are root and the archive
# answers (tried once per build directory), else skipped by name.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
MAKE_RUN=$BUILD/tests/tools/make_run
need_built helpers "$MAKE_RUN"

if ! command -v nsys >/dev/null && [ "$(id -u)" -eq 0 ] && [ ! -e build/nsight.tried ]; then
    touch build/nsight.tried
    timeout 250 bash tests/deps.sh nsight 2>&1 | note
fi
command -v nsys >/dev/null || skip_all "nsight-systems is not installed (Debian: non-free; tests/deps.sh nsight)"

"$MAKE_RUN" "$T/host.sqlite" --batches 50 --lossy && "$MAKE_RUN" "$T/fake.sqlite" --batches 50 --device fake && "$MAKE_RUN" "$T/paged.sqlite" --batches 50 --device fake --pageable || exit 1
for f in host fake paged; do
    run "$PP" export "$T/$f.sqlite" --to nsys
    is "$f: exported" "$rc" 0
done

# ---- reports. 2022.4 knows the old names alone, 2024 the new ones alone.
new=
nsys stats --help-reports 2>&1 | grep -q nvtx_pushpop_sum && new=1
name_of() { [ -z "$new" ] && echo "$1" || echo "$2"; }

rows() { # REPORT FILE: its rows without the header
    nsys stats --force-export=false --report "$1" --format csv "$T/$2.nsys.sqlite" 2>"$ERR" >"$OUT" </dev/null
    grep -v -e '^Processing' -e '^$' -e SKIPPED -e '^NOTICE' -e ERROR "$OUT" | tail -n +2
}

report() { # FILE OLD-NAME NEW-NAME REGEX-OF-A-ROW
    local name
    name=$(name_of "$2" "$3")
    rows "$name" "$1" >"$T/rows"
    if grep -q -e SKIPPED -e 'internal error' "$OUT" "$ERR"; then { cat "$OUT" "$ERR"; } | fail "$1: nsys stats $name"
    elif grep -Eq -- "$4" "$T/rows"; then pass "$1: nsys stats $name ($(wc -l <"$T/rows") rows)"
    else { echo "no row matches $4"; head -n 20 "$OUT" "$ERR"; } | fail "$1: nsys stats $name"; fi
}

for f in host fake; do
    report $f nvtxsum nvtx_sum '15000000,50,300000\.0,.*pipeprobe:decode$'
    report $f nvtxppsum nvtx_pushpop_sum '5000000,50,100000\.0,.*pipeprobe:h2d$'
    report $f nvtxpptrace nvtx_pushpop_trace '^800000,900000,100000,.*pipeprobe:h2d,4242,4245,'
    is "$f: every range is traced once" "$(wc -l <"$T/rows")" 350
done
report fake cudaapisum cuda_api_sum ',50,.*cudaMemcpyAsync'
report fake cudaapitrace cuda_api_trace '^800000,1,cudaMemcpyAsync,.*pp-copy'
report fake gpumemtimesum cuda_gpu_mem_time_sum '5000000,50,100000'
report fake gpumemsizesum cuda_gpu_mem_size_sum '^240\.845,50,'
report fake gputrace cuda_gpu_trace '^800000,100000,.*Pinned,Device,fake device'
report fake gpusum cuda_gpu_sum '5000000,50,'
report fake nvtxgpuproj nvtx_gpu_proj_trace 'pipeprobe:h2d,800000,100000,'
is "every copy projects onto its range" "$(wc -l <"$T/rows")" 50

rows "$(name_of gputrace cuda_gpu_trace)" host >"$T/rows"
check "host: no GPU was there, and the report says so" grep -q SKIPPED "$OUT"

# A run on the fake device, whose fake CUPTI told what it did.
FAKES=$PWD/$BUILD/tests/fake
run env LD_LIBRARY_PATH="$FAKES" "$PP" run --synthetic n=400,size=64x64 --transform rrc:32,normalize=imagenet --workers 2 --batch-size 8 --steps 40 --step cuda:2ms --wire u8 --sync-every-step --quiet \
    --force -o "$T/gpu.sqlite"
run "$PP" export "$T/gpu.sqlite" --to nsys
is "gpu: exported" "$rc" 0
count() { sql "$T/gpu.sqlite" "SELECT count(*) FROM gpu WHERE $1"; }
copies=$(count "kind = 'memcpy'") calls=$(count "kind = 'api' AND name = 'cuLaunchKernel'")
report gpu cudaapisum cuda_api_sum ",$calls,.*,cuLaunchKernel"
like "gpu: and the synchronising calls" "$(cat "$T/rows")" ',40,.*,cuCtxSynchronize'
report gpu gpumemtimesum cuda_gpu_mem_time_sum ",$copies,.*HtoD|,$copies,.*Host-to-Device"
report gpu gpukernsum cuda_gpu_kern_sum ',40,.*,pp_spin'
like "gpu: and those that normalise" "$(cat "$T/rows")" ",$copies,.*,pp_normalize_f32"
report gpu gputrace cuda_gpu_trace 'Pinned,Device,"?Fake GPU 0'
report gpu cudaapitrace cuda_api_trace 'cuMemcpyHtoDAsync_v2,.*pp-copy'
is "gpu: every call is traced once" "$(grep -c cuLaunchKernel "$T/rows")" "$calls"
report gpu nvtxgpuproj nvtx_gpu_proj_trace 'pipeprobe:step,'
is "gpu: every step projects onto its kernel" "$(grep -c 'pipeprobe:step,' "$T/rows")" 40
is "gpu: every copy onto its range" "$(grep -c 'pipeprobe:h2d,' "$T/rows")" "$copies"
report gpu nvtxkernsum nvtx_kern_sum 'pipeprobe:step,.*pp_spin'

analyze() { nsys analyze --force-export=false --rule "$1" --format csv "$T/$2.nsys.sqlite" >"$OUT" 2>&1 </dev/null; }
analyze "$(name_of gpu-low-util gpu_time_util)" fake
check "nsys analyze finds the idle GPU" grep -Eq '^10\.2,|,10\.2|^[0-9]+,10' "$OUT"
analyze "$(name_of cuda-async-memcpy cuda_memcpy_async)" paged
check "nsys analyze finds the pageable copies" grep -q Pageable "$OUT"
analyze "$(name_of cuda-async-memcpy cuda_memcpy_async)" fake
check "and none where memory is pinned" bash -c "! grep -q 'Pageable,Device' '$OUT'"
done_testing
