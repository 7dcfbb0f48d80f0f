#!/bin/bash
# `make gpu-check` on the fakes (its rows come, its numbers mean nothing there), its sentence without a device, and the portable binary.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
FAKES=$PWD/$BUILD/tests/fake

run env LD_LIBRARY_PATH="$FAKES" PP_FAKE_CUDA=devices=0 bash tests/gpu_check.sh "$PP"
is "without a device: exit code" "$rc" 77
like "and why" "$(cat "$OUT")" "no usable CUDA device"

# Every line is executed, but for what follows a failure.
exec 9>"$T/trace"
run env LD_LIBRARY_PATH="$FAKES" SECONDS_EACH=1.5 PHOTOS=4 KEEP="$T/kept" PYTHON=/bin/false bash -c 'BASH_XTRACEFD=9 PS4="+ line \$LINENO: "; set -x; . tests/gpu_check.sh' tests/gpu_check.sh "$PP"
exec 9>&-
check "a table, whatever it says" test "$rc" -eq 0 -o "$rc" -eq 1
for row in 'records / dropped +[1-9][0-9]* / 0 .*ok' 'clock error, ns +[0-9]+ +<= 2000 ' 'copies from pinned memory, GB/s +25[.0-9]* +>= 75 % of 31.5 +ok' 'copies from pageable memory, GB/s +6.0 .*ok' 'copy time under a step, % +[0-9.]+ +>= 90 ' \
    'kernels that normalise, against the CPU +f32 and f16 as on the CPU .*ok' "--wire u8: bytes copied, of f32's +0.25 .*ok" '--wire u8: normalising a batch, us +[0-9.]+ ' \
    'nvJPEG +nvJPEG 12.4, .* found +ok' 'HARDWARE images/s, batch 1/8/64/256 +[0-9.,]+ / [0-9.,]+ / [0-9.,]+ / [0-9.,]+ +> [0-9]+ CPU thread.*(ok|MISSED)' 'HARDWARE least time of a batch, ms +[0-9.]+ +<= 5 ' \
    'HARDWARE_DEVICE images/s, batch 1/8/64/256 +[0-9.,]+ /' 'GPU_HYBRID images/s, batch 1/8/64/256 +[0-9.,]+ /' 'HYBRID images/s, batch 1/8/64/256 +[0-9.,]+ /' 'one CPU thread, images/s +[0-9.,]+ ' \
    '4:4:4 pixels off, mean / largest, of 255 +0.00 / 0 .*ok' '4:2:0 pixels off, mean / largest, of 255 +[0-9.]+ / [1-9]' 'gray pixels off, mean / largest, of 255 +0.00 / 0 .*ok' \
    'samples/s of a run, --decode cpu +[0-9]+ ' 'samples/s of a run, hardware +[0-9]+ +>= --decode cpu ' "  and takes, of --decode cpu's, % +[0-9.]+ +<= 105 " "  which waits for data, % of the time +[0-9.]+ +< 5 " "  bytes copied, of --decode cpu's, % +[0-9.]+ .*ok" \
    'samples/s of a run, gpu-hybrid +[0-9]+ ' 'samples/s of a run, hybrid +[0-9]+ ' \
    'mixed files: samples / errors +[0-9]+ / [1-9][0-9]* .*ok' 'mixed files: decoded on the GPU +[1-9][0-9]* .*ok' 'mixed files: pixels off, mean / largest +[0-9.]+ / [0-9]+ ' "the loader's decode tests: passed / skipped +[1-9] / [1-9][0-9]* +none failed +ok" 'verdict: pageable +[a-z]' 'verdict: serial copy +[a-z]' 'verdict: sync every step +[a-z]' 'verdict: small batch +[a-z]' 'verdict: fed +[a-z]' 'sync verdicts, of 4 +[0-4] +4 ' 'a PyTorch job +not run: ' 'this check, seconds +[0-9]+ +<= 480 +ok' 'no device left by CUDA_VISIBLE_DEVICES +exit code 4 .*ok' "CUPTI's cost on samples/s, % +-?[0-9.]+ "; do
    like "row $row" "$(cat "$OUT")" "^$row"
done

check "the recordings are kept where KEEP says" test -e "$T/kept/pinned.sqlite"

# `make bench-gpu` likewise; DALI finds no device here, and says so.
run env LD_LIBRARY_PATH="$FAKES" PP_FAKE_CUDA=devices=0 bash tests/bench/gpu_decode.sh
is "bench-gpu without a device: exit code" "$rc" 77
like "and why" "$(cat "$OUT")" "^not run: no usable CUDA device"
run env LD_LIBRARY_PATH="$FAKES" IMAGES=40 ROUNDS=1 BATCH=8 PYTHON=/bin/false bash tests/bench/gpu_decode.sh
is "bench-gpu with one" "$rc" 0
for row in 'pipeprobe, hardware +[0-9]+ samples/s' 'pipeprobe, gpu-hybrid +[0-9]+ samples/s' 'DALI, mixed +not run: ' 'pipeprobe, --decode cpu +[0-9]+ samples/s' 'DALI, cpu +not run: '; do
    like "row $row" "$(cat "$OUT")" "^$row"
done

missed=$(comm -23 <(awk '/^ *(result|tokens|scenario|refused|gpu|printf|echo|"\$PP"|sed|local|head|if scenario|refused) /  && !/exit code \$2/ && !/exit 77/ && !/no usable/ { print NR }' tests/gpu_check.sh | sort) \
    <(grep -o 'line [0-9]*:' "$T/trace" | grep -o '[0-9]*' | sort -u))
is "and every line of it is executed" "$(for n in $missed; do sed -n "${n}p" tests/gpu_check.sh; done)" ""

if ! bash tests/deps.sh portable >/dev/null 2>&1; then skip "portable" "its static libraries cannot be installed here"
else
    check "make portable" make SAN= portable-built
    check "make gpu-check-kit" make SAN= gpu-check-kit-built
    tar -C "$T" -xzf build/pipeprobe-gpu-check.tar.gz
    run env -u LD_LIBRARY_PATH CUDA_VISIBLE_DEVICES= bash "$T/gpu-check/gpu_check.sh" "$T/gpu-check/bin/pipeprobe"
    is "the kit: starts elsewhere" "$rc $(grep -c 'no usable CUDA device' "$OUT")" "77 1"
    run env LD_LIBRARY_PATH="$T/gpu-check/bin/libs" "$T/gpu-check/bin/samples/make_dataset" "$T/some" --n 3
    is "the kit: its other programs" "$rc $(find "$T/some" -type f | wc -l)" "0 3"
    is "shares libc and its kin alone" "$(readelf -d build/release/pipeprobe-portable | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' | grep -Ev '^(libc|libm|libdl|libpthread|ld-linux.*)\.so' | paste -sd' ')" ""
    run build/release/pipeprobe-portable run --synthetic n=100,size=64x64 --steps 20 --batch-size 8 --device host --force -o "$T/portable.sqlite"
    check "and runs" test "$rc" -eq 0 -o "$rc" -eq 3
    # In a root with nothing but those libraries; the driver is opened at run time there as well.
    if [ "$(id -u)" -ne 0 ]; then skip "portable: runs with libc alone" "chroot needs root"
    else
        mkdir -p "$T/root/tmp"
        cp build/release/pipeprobe-portable "$T/root/pipeprobe"
        ldd build/release/pipeprobe-portable | grep -o '/[^ ]*' | sort -u | while read -r lib; do cp --parents -L "$lib" "$T/root"; done
        is "portable: shares no more than that" "$(find "$T/root" -name '*.so*' -printf '%f\n' | grep -Evc '^(libc|libm|libdl|libpthread|ld-linux.*)\.so')" 0
        run env CUDA_VISIBLE_DEVICES=0 chroot "$T/root" /pipeprobe run --synthetic n=100,size=64x64 --steps 20 --batch-size 8 --force -o /tmp/run.sqlite
        check "portable: runs with libc alone" test "$rc" -eq 0 -o "$rc" -eq 3
        like "portable: looked for a driver" "$(cat "$ERR")" "not CUDA: the NVIDIA driver is not installed"
        cp -L "$FAKES/libcuda.so.1" "$FAKES/libcupti.so.13" "$FAKES/libnvidia-ml.so.1" "$T/root/tmp/"
        run env LD_LIBRARY_PATH=/tmp chroot "$T/root" /pipeprobe run --synthetic n=100,size=64x64 --steps 20 --batch-size 8 --step cuda:1ms --force -o /tmp/run.sqlite
        like "portable: opens a driver where there is one" "$(cat "$ERR")" "device +Fake GPU 0"
    fi
fi
done_testing
