#!/bin/bash
# PIPEPROBE_TEST_DEVICE=1: the tests of decoding on the GPU on the libraries that this machine has. Here those are the stand-ins, found as NVIDIA's would be,
# with an engine's upsampling: close pixels pass, and pixels that are off do not.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
FAKES=$PWD/$BUILD/tests/fake UNIT=$BUILD/tests/unit/probe/loader/test_decoding SCRIPT=tests/e2e/gpu_decode_gives_the_cpus_batches.sh
need_built "helpers unit" "$FAKES/libcuda.so.1" "$FAKES/libnvjpeg.so.12" "$UNIT"
unset CMOCKA_MESSAGE_OUTPUT
on_device() { run timeout 200 env LD_LIBRARY_PATH="$FAKES" PIPEPROBE_TEST_DEVICE=1 "$@"; }
ok() { grep -Ec '^(ok|\[       OK)' "$OUT"; }

on_device "$UNIT"
is "the loader's tests: exit code" "$rc" 0
holds "those that need no stand-in ran, the others were skipped" "$(ok) >= 4 && $(grep -c '^# skip: only a fake' "$OUT") >= 10"
on_device env PP_FAKE_NVJPEG=off=30 "$UNIT"
holds "pixels that are off: exit code" "$rc != 0 && $rc != 77"
like "which row by how much" "$(cat "$OUT" "$ERR")" "row 0 is off by [23][0-9][.][0-9] of 255"
on_device env PP_FAKE_CUDA=devices=0 "$UNIT"
is "no device: exit code" "$rc" 77
like "and why" "$(cat "$OUT" "$ERR")" "there is no CUDA device"

on_device bash $SCRIPT
is "the whole program's: exit code" "$rc" 0
holds "they ran" "$(ok) >= 15"
like "what only a stand-in can be told is skipped by name" "$(cat "$OUT")" "# SKIP only a stand-in can be told to"
on_device env PP_FAKE_NVJPEG=off=30 bash $SCRIPT
is "pixels that are off: exit code" "$rc" 1
like "what is wrong" "$(cat "$OUT")" "not ok [0-9]+ - .*: the pixels of the images are close"
on_device env PP_FAKE_CUDA=devices=0 bash $SCRIPT
is "no device: exit code" "$rc" 77
done_testing
