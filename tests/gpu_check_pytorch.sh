#!/bin/bash
# tests/gpu_check_pytorch.sh: gpu_check.sh's rows about a PyTorch job of the user's own, as `exec` records it: what CUPTI's records say against what the job finds out itself, by its clock, by taking the copy
# out of every other step, and by PyTorch's profiler in its place. PYTHON is one with PyTorch for CUDA.
PYTHON=${PYTHON:-python3}
training() { # NAME EXEC-OPTIONS -- JOB'S ARGUMENTS: a job recorded as $T/NAME.sqlite, its report as $T/NAME.report; what it prints in $T/NAME.json
    local name=$1 options=()
    shift
    while [ "$1" != -- ]; do options+=("$1") && shift; done
    shift
    timeout 90 "$PP" exec -q --force "${options[@]}" -o "$T/$name.sqlite" -- "$PYTHON" "$HERE/jobs/torch_on_gpu.py" "$@" >"$T/$name.json" 2>"$T/$name.err"
    local rc=$?
    "$PP" report --json "$T/$name.sqlite" >"$T/$name.report" 2>>"$T/$name.err"
    [ $rc -eq 0 ] || { result "$name" "exit code $rc" "0" 0 && tail -n 5 "$T/$name.err" | sed 's/^/  /'; return 1; }
}
of() { "$PYTHON" -c 'import functools, json, sys
value = functools.reduce(lambda v, k: v and v.get(k), sys.argv[2].split("."), json.load(open(sys.argv[1])))
print("" if value is None else value)' "$1" "$2"; }
said() { of "$T/$1.json" "$2"; }
reported() { of "$T/$1.report" "gpu.$2"; }
div() { awk -v v="$1" -v n="$2" 'BEGIN { if (v != "") printf "%.3f", v / n }'; } # nothing of nothing
within() { holds "$1 > $2 * (1 - $3) - $4 && $1 < $2 * (1 + $3) + $4"; } # VALUE TRUTH SHARE ROOM
if why=$("$PYTHON" -c 'import torch; print(torch.cuda.get_device_name(), torch.__version__)' 2>&1); then
    echo "a PyTorch job: $why"
    for copy in pinned pageable; do
        training "t_$copy" -- --copy $copy --alternate --matmuls 15 --steps 400 || continue
        result "PyTorch, $copy: recorded by" "$(reported "t_$copy" activity | cut -c1-26)" "CUPTI, in the job" "$(case $(reported "t_$copy" activity) in CUPTI*) echo 1 ;; *) echo 0 ;; esac)"
        exposed=$(div "$(reported "t_$copy" exposed_copy_ns)" 1e6) truth=$(awk "BEGIN { printf \"%.3f\", ($(said "t_$copy" step_with_copy_ms) - $(said "t_$copy" step_without_copy_ms)) / 2 }")
        result "PyTorch, $copy: exposed copy per step, ms" "$exposed" "$truth +- 10 %, 20 us" "$(within "$exposed" "$truth" 0.1 0.02)"
        share=$(reported "t_$copy" pageable_share)
        result "PyTorch, $copy: pageable, of the bytes" "$share" "$([ $copy = pageable ] && echo 1 || echo 0)" "$([ $copy = pageable ] && holds "$share > 0.999" || holds "$share < 0.001")"
        result "PyTorch, $copy: clock error, ns" "$(reported "t_$copy" clock_error_ns)" "<= 2000" "$(holds "$(reported "t_$copy" clock_error_ns) <= 2000")"
        outside=$(sql "$T/t_$copy.sqlite" "SELECT count(*) FROM v_gpu g JOIN v_span s ON s.batch = g.batch AND s.phase = 'step' WHERE g.kind IN ('memcpy', 'kernel') AND (g.start_ns < s.start_ns - 2000 OR g.start_ns + g.dur_ns > s.start_ns + s.dur_ns + 2000)")
        result "PyTorch, $copy: rows outside their step" "$outside" "0 (by 2 us)" "$(holds "$outside == 0")"
    done
    if training t_stream -- --copy stream; then
        hidden=$(div "$(reported t_stream copy_overlap_share)" 0.01)
        result "PyTorch, copies on a stream: under kernels, %" "$hidden" ">= 90" "$(holds "$hidden >= 90")"
    fi
    if training t_slow -- --sample-ms 12 --batch 8 --workers 4 --steps 100 --matmuls 20; then
        idle=$(div "$(reported t_slow idle_in_wait_ns)" 1e6)
        result "PyTorch, slow data: GPU idle in a wait, ms" "$idle" "$(div "$(said t_slow wait_ms)" 1) +- 5 %" "$(within "$idle" "$(said t_slow wait_ms)" 0.05 0.02)"
        result "PyTorch, slow data: verdict" "$(of "$T/t_slow.report" verdict.l0), $(of "$T/t_slow.report" verdict.l1)" "input-bound" "$([ "$(of "$T/t_slow.report" verdict.l0)" = input-bound ] && echo 1 || echo 0)"
    fi
    if training t_profiled -- --profile --steps 60 --matmuls 30 && training t_beside -- --steps 60 --matmuls 30; then
        result "PyTorch's profiler keeps CUPTI" "$(said t_profiled profiler.copies) copies" "100, and NOT MEASURED" "$([ "$(said t_profiled profiler.copies)" = 100 ] && [ -n "$(reported t_profiled not_measured)" ] && echo 1 || echo 0)"
        kernels=$(sql "$T/t_beside.sqlite" "SELECT count(*) FROM gpu WHERE kind = 'kernel' AND (name LIKE '%gemm%' OR name LIKE '%nvjet%' OR name LIKE '%cutlass%')")
        result "PyTorch: kernels, as its profiler counts them" "$kernels" "$(said t_profiled profiler.matmuls)" "$(holds "$kernels == $(said t_profiled profiler.matmuls)")"
        result "PyTorch: copies, ms, as its profiler has them" "$(div "$(sql "$T/t_beside.sqlite" "SELECT sum(dur_ns) FROM gpu WHERE kind = 'memcpy' AND source <> 'device'")" 1e6)" "$(div "$(said t_profiled profiler.copy_ms)" 1)" -
    fi
    # CUPTI's cost on a step, in turns within one process; the control is what turns alike differ by. Steps of 3 and of 12 ms.
    for matmuls in 15 60; do
        training t_cost -- --records-off --steps $((matmuls == 15 ? 2900 : 960)) --batch 8 --matmuls $matmuls || continue
        plus_minus() { printf '%.2f +- %.2f' "$(said t_cost "$1_percent")" "$(said t_cost "$1_interval")"; }
        result "PyTorch: CUPTI's cost on $(printf %.1f "$(said t_cost step_ms)") ms, %" "$(plus_minus all), control $(plus_minus control)" "<= 1" "$(holds "$(said t_cost all_percent) - $(said t_cost all_interval) <= 1")"
        result "  of copies and kernels alone" "$(plus_minus device)" "" -
    done
else
    result "a PyTorch job" "not run: $(tail -n 1 <<<"$why" | cut -c1-40)" "" -
fi
