#!/bin/bash
# The CUDA device through the whole program, on the fake driver: which device is taken and why not, copies and steps recorded, a device lost in
# mid-run; then the real driver library where there is one without a device, and the checked-in kernel against nvcc.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
FAKES=$PWD/$BUILD/tests/fake
need_built helpers "$FAKES/libcuda.so.1"

fake_run() { # WORDS ARGUMENTS...: pipeprobe run with the fake driver so configured
    local words=$1
    shift
    run timeout 60 env LD_LIBRARY_PATH="$FAKES" PP_FAKE_CUDA="$words" "$PP" run --synthetic n=400,size=64x64 --transform rrc:32,normalize=imagenet --workers 2 --batch-size 8 --force -o "$T/run.sqlite" "$@"
}
meta() { sql "$T/run.sqlite" "SELECT value FROM meta WHERE section = '$1' AND key = '$2'"; }
ended_well() { test "$rc" -eq 0 -o "$rc" -eq 3; } # 3: so short a run may be inconclusive

fake_run "" --steps 40 --step-ms 2
check "a usable device is taken by itself" ended_well
like "and named" "$(cat "$ERR")" "device +Fake GPU 0 .*, pinned"
like "with a step on it" "$(cat "$ERR")" "step +cuda of 2.00 ms"
is "config.device is what auto became" "$(meta config device), $(meta config device_kind), $(meta config step), $(meta config pinned)" "cuda, cuda, cuda, 1"
is "every batch has its copy" "$(sql "$T/run.sqlite" "SELECT count(DISTINCT batch) >= 40 FROM v_span WHERE phase = 'h2d'")" 1
is "no step is shorter than asked for" "$(sql "$T/run.sqlite" "SELECT count(*), min(dur_ns) >= 2000000 FROM v_span WHERE phase = 'step'")" "40|1"

fake_run "" --steps 10 --step cuda:3ms
like "--step cuda:3ms is kind and length" "$(cat "$ERR")" "step +cuda of 3.00 ms"
is "and is stored as both" "$(meta config step) $(meta config step_ms) $(meta config step_ns)" "cuda 3 3000000"
refuses "two lengths" 2 "cuda:3ms and --step-ms 4 give two lengths" "$PP" run --synthetic n=10 --step cuda:3ms --step-ms 4
refuses "a length that is none" 2 "'cuda:soon' has no length after cuda: such as cuda:20ms" "$PP" run --synthetic n=10 --step cuda:soon

# The bytes of a batch of 8 are a quarter of its floats.
fake_run "" --steps 20 --step cuda:1ms --wire u8
like "--wire u8: what is copied and what is delivered" "$(cat "$ERR")" "normalize=imagenet, f32; copied as u8 and normalised on the device"
is "bytes are copied" "$(sql "$T/run.sqlite" "SELECT DISTINCT bytes FROM v_gpu WHERE kind = 'memcpy'"), $(meta config wire), $(meta config row_bytes)" "$((8 * 3 * 32 * 32)), u8, $((3 * 32 * 32))"
is "each batch is normalised, on the copies' stream" "$(sql "$T/run.sqlite" "SELECT count(*) >= 20, min(n.start_ns >= m.start_ns + m.dur_ns), min(n.stream = m.stream) FROM v_gpu n JOIN v_gpu m ON m.batch = n.batch AND m.kind = 'memcpy'
    WHERE n.name = 'pp_normalize_f32'")" "1|1|1"
fake_run "" --steps 20 --step cuda:1ms --wire u8 --dtype f16 --h2d sync
is "--dtype f16 --h2d sync too" "$(sql "$T/run.sqlite" "SELECT DISTINCT name FROM v_gpu WHERE name LIKE 'pp_normalize%'")" "pp_normalize_f16"
refuses "a device that normalises wrongly is not used" 4 "gives other values than the CPU" env LD_LIBRARY_PATH="$FAKES" PP_FAKE_CUDA=wrong=1 "$PP" run --synthetic n=10 --wire u8 --device cuda -o "$T/none.sqlite"

fake_run "" --steps 10 --step-ms 2 --device host
like "--device host leaves it alone" "$(cat "$ERR")" "device +host device, simulated"
check "and says nothing of CUDA" bash -c "! grep -q CUDA '$ERR'"
fake_run "" --steps 10 --step-ms 2 --step sleep --pageable --device cuda
like "--pageable" "$(cat "$ERR")" "pageable"
is "is stored" "$(meta config pinned), $(meta config step)" "0, sleep"

# A copy of a batch takes 10 ms on this link, a step 10 ms. By the device's own clock, whatever the machine is doing: in turns, or at the same time.
overlapping() { sql "$T/run.sqlite" "SELECT count(DISTINCT m.id) FROM gpu m JOIN gpu k ON k.kind = 'kernel' AND m.kind = 'memcpy' AND k.start_ns < m.start_ns + m.dur_ns AND m.start_ns < k.start_ns + k.dur_ns"; }
fake_run "gbps=0.0098304" --steps 20 --step-ms 10 --h2d sync
is "--h2d sync: copy and step take turns" "$(overlapping)" 0
fake_run "gbps=0.0098304" --steps 20 --step-ms 10
holds "--h2d async: copies run under steps" "$(overlapping) >= 5"

# What the GPU did, from CUPTI's records, in the same file.
fake_run "" --steps 40 --step-ms 2
like "CUPTI is named" "$(cat "$ERR")" "GPU +activity CUPTI of libcupti.so.13, interface 130001"
is "a copy and a kernel for every batch" "$(sql "$T/run.sqlite" "SELECT count(DISTINCT batch) >= 40 FROM v_gpu WHERE kind = 'memcpy' AND source = 'pinned'"), $(sql "$T/run.sqlite" "SELECT count(DISTINCT batch) FROM v_gpu WHERE kind = 'kernel' AND name = 'pp_spin'")" "1, 40"
is "each kernel inside its step, each copy inside its h2d span" "$(sql "$T/run.sqlite" "SELECT count(*) FROM v_gpu g JOIN v_span s ON s.batch = g.batch AND s.phase = iif(g.kind = 'kernel', 'step', 'h2d')
    WHERE g.kind IN ('kernel', 'memcpy') AND (g.start_ns < s.start_ns - 2000 OR g.start_ns + g.dur_ns > s.start_ns + s.dur_ns + 2000)")" 0
is "the driver's calls too" "$(sql "$T/run.sqlite" "SELECT count(*) FROM v_gpu WHERE kind = 'api' AND name = 'cuLaunchKernel' AND result = 0")" 40
is "counters of NVML" "$(sql "$T/run.sqlite" "SELECT DISTINCT value FROM counter WHERE name = 'gpu_utilization_percent'"), $(meta gpu counters), $(meta environment gpu_link)" "42.0, NVML, PCIe 4 x16"
fake_run "" --duration 2.5 --step-ms 5 --json
is "NVML in the report" "$(json "$OUT" '$.gpu.nvml_utilization_share'), $(json "$OUT" '$.gpu.nvml_memory_used_bytes'), $(json "$OUT" '$.gpu.nvml_pcie_rx_bytes_per_s'), $(json "$OUT" '$.gpu.nvml_not_measured')" "0.42, 3221225472, 2048000, "
run "$PP" top "$T/run.sqlite" --json
is "and in the dashboard" "$(json "$OUT" '$.gpu_utilization_percent'), $(json "$OUT" '$.gpu_memory_used_bytes')" "42, 3221225472"
mkdir "$T/no-nvml"
ln -s "$FAKES"/libcuda.so.1 "$FAKES"/libcupti.so.13 "$T/no-nvml/"
cp "$(ldconfig -p | awk '/libm.so.6 / { print $NF; exit }')" "$T/no-nvml/libnvidia-ml.so.1" # in the place of another
FAKES=$T/no-nvml fake_run "" --duration 1.5 --step-ms 5 --json
like "without NVML the run goes on, and says so" "$(json "$OUT" '$.gpu.nvml_not_measured'), $(json "$OUT" '$.gpu.busy_share')" "not recorded: the driver's NVML is too old: it has no nvml.*, 0[.]"
fake_run "" --steps 40 --step-ms 2
is "nothing dropped, clock error known" "$(meta gpu records_dropped), $(meta gpu clock_error_ns)" "0, 0"
fake_run "" --steps 20 --step-ms 2 --no-gpu-activity
is "--no-gpu-activity leaves CUPTI alone" "$(sql "$T/run.sqlite" "SELECT count(*) FROM gpu"), $(meta gpu activity)" "0, not recorded: asked not to"
PP_FAKE_CUPTI=enable=39 fake_run "" --steps 20 --step-ms 2
check "CUPTI held by another: the run goes on" ended_well
like "and it is said" "$(cat "$ERR")" "activity not recorded: another profiler owns CUPTI"

run env LD_LIBRARY_PATH="$FAKES" "$PP" doctor
like "doctor names the device" "$(tr -s ' \n' ' ' <"$OUT")" "yes CUDA driver Fake GPU 0, 1 device, driver for CUDA 13.0"
like "doctor shows copies by memory" "$(cat "$OUT")" "write-combined( +[0-9.]+){4}"
run env LD_LIBRARY_PATH="$FAKES" "$PP" doctor --json
is "doctor --json has them as numbers" "$(sql :memory: "SELECT count(*), min(json_extract(value, '\$.bytes_per_s') > 1e6) FROM json_each(CAST(readfile('$OUT') AS TEXT), '\$.h2d')")" "12|1"
run env LD_LIBRARY_PATH="$FAKES" PP_FAKE_CUDA=devices=0 "$PP" doctor --json
is "and null without a device" "$(json "$OUT" '$.h2d' | wc -w)" 0

# The prefixes of CUPTI's records, against the headers of the toolkit that is installed.
include=$(ls -d /usr/local/cuda/include /usr/include 2>/dev/null | while read -r d; do [ -e "$d/cupti.h" ] && [ -e "$d/cuda.h" ] && echo "$d" && break; done)
if [ -z "$include" ]; then skip "record prefixes agree with cupti.h" "no cupti.h here"
else
    cat >"$T/prefix.c" <<'C'
#include <cupti.h>
#include "collectors/gpu/cupti_abi.h"
#define SAME(theirs, field, ours, mine) _Static_assert(offsetof(theirs, field) == offsetof(struct ours, mine), #theirs "." #field)
SAME(CUpti_ActivityMemcpy5, srcKind, pp_cupti_memcpy, source_kind);
SAME(CUpti_ActivityMemcpy5, bytes, pp_cupti_memcpy, bytes);
SAME(CUpti_ActivityMemcpy5, start, pp_cupti_memcpy, start);
SAME(CUpti_ActivityMemcpy5, streamId, pp_cupti_memcpy, stream);
SAME(CUpti_ActivityMemcpy5, correlationId, pp_cupti_memcpy, correlation);
SAME(CUpti_ActivityMemset4, bytes, pp_cupti_memset, bytes);
SAME(CUpti_ActivityMemset4, correlationId, pp_cupti_memset, correlation);
SAME(CUpti_ActivityKernel8, start, pp_cupti_kernel, start);
SAME(CUpti_ActivityKernel8, streamId, pp_cupti_kernel, stream);
SAME(CUpti_ActivityKernel8, correlationId, pp_cupti_kernel, correlation);
SAME(CUpti_ActivityKernel8, name, pp_cupti_kernel, name);
SAME(CUpti_ActivityAPI, start, pp_cupti_api, start);
SAME(CUpti_ActivityAPI, threadId, pp_cupti_api, thread);
SAME(CUpti_ActivityAPI, returnValue, pp_cupti_api, result);
SAME(CUpti_ActivitySynchronization, start, pp_cupti_sync, start);
SAME(CUpti_ActivitySynchronization, streamId, pp_cupti_sync, stream);
SAME(CUpti_ActivityOverhead, start, pp_cupti_overhead, start);
SAME(CUpti_ActivityExternalCorrelation, externalId, pp_cupti_external, external);
SAME(CUpti_ActivityExternalCorrelation, correlationId, pp_cupti_external, correlation);
_Static_assert(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL == PP_CUPTI_KERNEL && CUPTI_ACTIVITY_KIND_DRIVER == PP_CUPTI_DRIVER, "kinds");
_Static_assert(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION == PP_CUPTI_SYNCHRONIZATION && CUPTI_ACTIVITY_KIND_OVERHEAD == PP_CUPTI_OVERHEAD, "kinds");
_Static_assert(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION == PP_CUPTI_EXTERNAL_CORRELATION && CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0 == PP_CUPTI_CUSTOM0, "kinds");
_Static_assert(CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE == 1 && CUPTI_ACTIVITY_MEMORY_KIND_PINNED == 2 && CUPTI_ACTIVITY_MEMORY_KIND_DEVICE == 3 && CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC == 1, "copies");
_Static_assert(CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE == 1 && CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE == 3 && CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE == 4, "synchronisations");
_Static_assert(CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH == 1 << 16 && CUPTI_CB_DOMAIN_DRIVER_API == 1 && CUPTI_CB_DOMAIN_RUNTIME_API == 2, "overhead, calls");
_Static_assert(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM == PP_CUPTI_THREAD_SYSTEM, "threads");
_Static_assert(CUPTI_ERROR_MAX_LIMIT_REACHED == PP_CUPTI_MAX_LIMIT_REACHED && CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED == PP_CUPTI_MULTIPLE_SUBSCRIBERS, "codes");
C
    check "record prefixes agree with cupti.h of $include" "${CC:-cc}" -std=gnu11 -I. -Iinclude -isystem "$include" -fsyntax-only "$T/prefix.c"
fi

# The driver's calls as we declare them, against cuda.h: names, arguments and the numbers we know.
if [ -z "$include" ]; then skip "the driver's calls agree with cuda.h" "no cuda.h here"
else
    {
        echo '#include <cuda.h>'
        for pair in result:CUresult device:CUdevice context:CUcontext stream:CUstream event:CUevent module:CUmodule function:CUfunction pointer:CUdeviceptr; do
            echo "#define pp_cu_${pair%%:*} ${pair#*:}"
        done
        sed -n '/^#define PP_CU_CALLS/,/[^\\]$/p' probe/device/cuda_driver.h | sed 's/int attribute/CUdevice_attribute attribute/'
        echo '#define SAME(name, args) CUresult(*same_##name) args = name;'
        echo 'PP_CU_CALLS(SAME)'
        sed -n 's/^ *\(enum {.*};\).*/\1/p; /^enum {$/,/^};/p' probe/device/cuda_driver.h
        for pair in OUT_OF_MEMORY:CUDA_ERROR_OUT_OF_MEMORY NOT_INITIALIZED:CUDA_ERROR_NOT_INITIALIZED NO_DEVICE:CUDA_ERROR_NO_DEVICE INVALID_DEVICE:CUDA_ERROR_INVALID_DEVICE \
            PTX_TOO_NEW:CUDA_ERROR_UNSUPPORTED_PTX_VERSION DRIVER_MISMATCH:CUDA_ERROR_SYSTEM_DRIVER_MISMATCH STREAM_NON_BLOCKING:CU_STREAM_NON_BLOCKING \
            EVENT_BLOCKING_SYNC:CU_EVENT_BLOCKING_SYNC EVENT_DISABLE_TIMING:CU_EVENT_DISABLE_TIMING HOST_PORTABLE:CU_MEMHOSTALLOC_PORTABLE HOST_WRITE_COMBINED:CU_MEMHOSTALLOC_WRITECOMBINED \
            ATTRIBUTE_MAJOR:CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR ATTRIBUTE_MINOR:CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR; do
            echo "_Static_assert((int)PP_CU_${pair%%:*} == (int)${pair#*:}, \"$pair\");"
        done
    } >"$T/driver.c"
    check "the driver's calls agree with cuda.h of $include" "${CC:-cc}" -std=gnu11 -Werror -isystem "$include" -fsyntax-only "$T/driver.c"
    is "all of them were looked at" "$(grep -c '^    X(cu' "$T/driver.c")" "$(grep -c '^    X(cu' probe/device/cuda_driver.h)"
fi

# A machine without a GPU is nothing to say; where one was asked for, or is there, it is.
if [ ! -e /dev/nvidia0 ] && [ ! -e /dev/dxg ]; then
    fake_run "devices=0" --steps 10 --step-ms 2
    check "no GPU in the machine: not a word about CUDA" test "$(cat "$ERR" "$OUT" | grep -ci 'cuda\|nvidia')" -eq 0
    is "nor in the file" "$(meta chosen device)" ""
else
    skip "no GPU in the machine: not a word about CUDA" "there is one"
fi
export CUDA_VISIBLE_DEVICES=0
fake_run "devices=0" --steps 10 --step-ms 2
unset CUDA_VISIBLE_DEVICES
check "no device: the run goes on with the host" ended_well
like "and says why" "$(cat "$ERR")" "not CUDA: .*no CUDA device"
is "the file knows" "$(meta config device), $(meta chosen device)" "host, $(meta chosen device)"
like "the reason too" "$(meta chosen device)" "no CUDA device"
refuses "asked for by name, no device is an error" 4 "no CUDA device" env LD_LIBRARY_PATH="$FAKES" PP_FAKE_CUDA="devices=0" "$PP" run --synthetic n=10 --device cuda -o "$T/none.sqlite"
refuses "an empty CUDA_VISIBLE_DEVICES is named" 4 'CUDA_VISIBLE_DEVICES=""' env CUDA_VISIBLE_DEVICES= LD_LIBRARY_PATH="$FAKES" "$PP" run --synthetic n=10 --device cuda -o "$T/none.sqlite"
refuses "an old driver is named" 4 "supports CUDA 8.0, and CUDA 9.0 is needed" env LD_LIBRARY_PATH="$FAKES" PP_FAKE_CUDA="version=8000" "$PP" run --synthetic n=10 --device cuda -o "$T/none.sqlite"
refuses "--step cuda without a device" 4 "needs a CUDA device" env LD_LIBRARY_PATH="$FAKES" PP_FAKE_CUDA="devices=0" "$PP" run --synthetic n=10 --step cuda --step-ms 1 -o "$T/none.sqlite"
refuses "--step cuda on the host" 2 "runs on the GPU" "$PP" run --synthetic n=10 --step cuda --step-ms 1 --device host -o "$T/none.sqlite"

fake_run "host-mib=1" --steps 10 --batch-size 400
is "slots that do not fit: exit code" "$rc" 4
like "the sentence says what to try" "$(cat "$ERR")" "page-locking .*out of memory.*smaller --batch-size"

for call in cuMemcpyHtoDAsync_v2:20 cuEventSynchronize:30 cuLaunchKernel:20; do
    fake_run "fail=$call:719" --steps 200 --step-ms 1
    is "device lost at $call: exit code" "$rc" 4
    like "$call: one sentence" "$(grep 'pipeprobe run:' "$ERR")" "unspecified launch failure.*\(CUDA error 719\).*recording so far is kept"
    is "$call: the recording is kept" "$(meta run outcome), $(sql "$T/run.sqlite" "SELECT count(*) > 10 FROM v_span WHERE phase = 'h2d'"), $(sql "$T/run.sqlite" 'PRAGMA integrity_check')" "failed, 1, ok"
    is "$call: the span that failed is marked" "$(sql "$T/run.sqlite" "SELECT count(*) > 0 FROM v_span WHERE phase IN ('h2d', 'step') AND flags & 1")" 1
done

# The driver's own library without a device (Debian: libcuda1), as on a build machine.
if ! ldconfig -p | grep -q 'libcuda\.so\.1'; then skip "NVIDIA's own library without a device" "libcuda.so.1 is not installed"
elif compgen -G '/dev/nvidia[0-9]*' >/dev/null; then skip "NVIDIA's own library without a device" "there is a device"
else
    refuses "NVIDIA's own library without a device" 4 "no CUDA device|NVIDIA driver" "$PP" run --synthetic n=10 --device cuda -o "$T/none.sqlite"
fi

nvcc=$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null)
made_by=$(sed -n '1s/.* nvcc \([0-9.]*\);.*/\1/p' probe/device/kernel.ptx)
if [ -z "$nvcc" ]; then skip "kernel.ptx is what nvcc makes of kernel.cu" "nvcc is not installed"
elif ! "$nvcc" --version | grep -q "V$made_by"; then skip "kernel.ptx is what nvcc makes of kernel.cu" "it was made by nvcc $made_by, here is another"
else
    bash probe/device/ptx.sh "$nvcc" >"$T/kernel.ptx" 2>"$T/ptx.err"
    check "kernel.ptx is what nvcc makes of kernel.cu" cmp "$T/kernel.ptx" probe/device/kernel.ptx
fi
if ! command -v python3 >/dev/null; then skip "the checked-in PTX, interpreted, gives the table's values" "python3 is not installed"
else check "the checked-in PTX, interpreted, gives the table's values" python3 tests/e2e/kernel_ptx.py probe/device/kernel.ptx
fi
ptxas=$(command -v ptxas || ls /usr/local/cuda/bin/ptxas 2>/dev/null)
if [ -z "$ptxas" ]; then skip "the checked-in PTX assembles" "ptxas is not installed"
else
    for arch in sm_75 sm_90; do
        check "the checked-in PTX assembles for $arch" "$ptxas" -arch=$arch -o "$T/kernel.cubin" probe/device/kernel.ptx
    done
fi
done_testing
