#!/bin/bash
# `make gpu-check` on the fakes (its rows come, its numbers mean nothing there), its sentence without a device, and the portable binary.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
FAKES=$PWD/$BUILD/tests/fake

run env LD_LIBRARY_PATH="$FAKES" PP_FAKE_CUDA=devices=0 bash tests/gpu_check.sh "$PP"
is "without a device: exit code" "$rc" 77
like "and why" "$(cat "$OUT")" "no usable CUDA device"

run env LD_LIBRARY_PATH="$FAKES" SECONDS_EACH=1 bash tests/gpu_check.sh "$PP"
check "a table, whatever it says" test "$rc" -eq 0 -o "$rc" -eq 1
for row in 'records / dropped +[1-9][0-9]* / 0 .*ok' 'clock error, ns +[0-9]+ ' 'copies from pinned memory, GB/s +25' 'copies from pageable memory, GB/s +6.0 .*ok' 'copy time under a step, % +[0-9.]+' \
    'verdict: pageable +[a-z]' 'verdict: fed +[a-z]' "CUPTI's cost on samples/s, % +-?[0-9.]+ "; do
    like "row $row" "$(cat "$OUT")" "^$row"
done

if ! bash tests/deps.sh portable >/dev/null 2>&1; then skip "portable" "its static libraries cannot be installed here"
else
    check "make portable" make SAN= portable-built
    is "shares libc and its kin alone" "$(readelf -d build/release/pipeprobe-portable | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' | grep -Ev '^(libc|libm|libdl|libpthread|ld-linux.*)\.so' | paste -sd' ')" ""
    run build/release/pipeprobe-portable run --synthetic n=100,size=64x64 --steps 20 --batch-size 8 --device host --force -o "$T/portable.sqlite"
    check "and runs" test "$rc" -eq 0 -o "$rc" -eq 3
fi
done_testing
