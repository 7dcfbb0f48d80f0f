#!/bin/bash
# The findings about JPEGs that the GPU decodes, through the whole program: the stand-ins of driver and nvJPEG are made to be what the finding says, and
# beside each is a control that is not. Counts, states and ratios only: what a stand-in takes in ms means nothing.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
FAKES=$PWD/$BUILD/tests/fake
need_built helpers "$FAKES/libcuda.so.1" "$FAKES/libnvjpeg.so.12" "$MAKE_DATASET"

"$MAKE_DATASET" "$T/images" --n 160 --size 64x48 >/dev/null
data=("$T/images")
gpu_run() { # NVJPEG ARGUMENTS...: pipeprobe run with the stand-in so configured, and its report
    local nvjpeg=$1
    shift
    run timeout 120 env LD_LIBRARY_PATH="$FAKES" PP_FAKE_CUDA= PP_FAKE_NVJPEG="$nvjpeg" "$PP" run "${data[@]}" --transform rrc:48,normalize=imagenet --decode "${decode:-nvjpeg}" --workers 2 --batch-size 8 --seed 5 \
        --no-gpu-activity --json --force -o "$T/run.sqlite" "$@"
}
row() { sql :memory: "SELECT json_extract(value, '\$.$2') FROM json_each(CAST(readfile('$OUT') AS TEXT), '\$.findings') WHERE json_extract(value, '\$.kind') = '$1'"; }

# Decoding that has left the CPU, or has not: all images but a few progressive ones are taken, or the narrow ones.
gpu_run "" --epochs 4 --step cuda:1ms
is "nearly all images on the GPU" "$(row decode-offload state), $(row decode-offload next_step)" "not-found, "
like "is said" "$(row decode-offload sentence)" "^decode moved off the CPU: the GPU decodes (9[5-9]|100)[.0-9]* % of the images"
is "compressed bytes are copied" "$(row decode-copies state)" "not-found"
like "and said" "$(row decode-copies sentence)" "^copies carry compressed bytes instead of pixels: "
holds "they are fewer" "$(row decode-copies numbers.copied_share) < 0.4"
gpu_run "refuse-from=50" --epochs 4 --step cuda:1ms
is "most images are none for the engine" "$(row decode-offload state)" "found"
holds "the others are" "$(row decode-offload numbers.image_share) > 0.02 && $(row decode-offload numbers.image_share) < 0.5"
like "what to do" "$(row decode-offload next_step)" "^Store the images as baseline JPEG"
is "then pixels are copied" "$(row decode-copies state)" "found"
like "and said" "$(row decode-copies sentence)" "^copies carry pixels for the most part: "
holds "half of them and more" "$(row decode-copies numbers.copied_share) > 0.5"

# Plain images of one sampling: two batches, and enough of them have been compared with the CPU's.
data=(--synthetic n=2000,size=64x48,unique=16 --prefetch 8)
# A decoder that is busy all the time, with a step that waits for it; one that rests.
gpu_run "batch-us=150000" --step cuda:1ms --steps 40 --copy-buffers 4
is "a slow decoder" "$(row decode-engine state)" "found"
like "is said" "$(row decode-engine sentence)" "^decode engine saturated: the JPEG engines are busy for "
is "and is the verdict" "$(json "$OUT" '$.verdict.l1')/$(json "$OUT" '$.verdict.l2')" "transform/gpu-decode"
is "with the same advice" "$(row decode-engine next_step)" "$(json "$OUT" '$.verdict.next_step')"
gpu_run "batch-us=1000" --step cuda:30ms --steps 40
is "a fast one" "$(row decode-engine state), $(row decode-engine next_step)" "not-found, "
holds "rests" "$(row decode-engine numbers.busy_share) < 0.7"

# A decoder that takes half of the multiprocessors while it decodes, for fifteen batches out of thirty. A step that is work takes twice as long beside it.
bursts="burst=15;batch-us=60000"
gpu_run "$bursts;steal=0.5" --nvjpeg-backend gpu-hybrid --step cuda-work:20ms --steps 90
stolen=$(row decode-steps numbers.stretch_share)
is "a decoder on the step's multiprocessors" "$(row decode-steps state)" "found"
like "is said" "$(row decode-steps sentence)" "^decoding takes time from the step: a step takes .* beside decoding and .* apart from it"
like "what to do" "$(row decode-steps next_step)" "^Decode with the GPU's JPEG engines"
is "the step is named" "$(sql "$T/run.sqlite" "SELECT value FROM meta WHERE section = 'config' AND key = 'step'")" "cuda-work"
holds "by how much" "$stolen > 0.4"
gpu_run "$bursts;steal=0.5" --nvjpeg-backend hardware --step cuda-work:20ms --steps 90
holds "engines leave the step alone" "$(row decode-steps numbers.steps_beside) >= 10 && $(row decode-steps numbers.steps_apart) >= 10 && $(row decode-steps numbers.stretch_share) < $stolen / 2"
# Beside every step: what it takes alone is known. A step that is a length of time shows nothing.
gpu_run "batch-us=60000;steal=0.5" --nvjpeg-backend gpu-hybrid --step cuda-work:20ms --steps 40
is "a decoder that never rests" "$(row decode-steps state)" "found"
like "is compared with the idle GPU" "$(row decode-steps sentence)" "beside decoding and 20[.]0 ms on an idle GPU"
gpu_run "batch-us=60000;steal=0.5" --nvjpeg-backend gpu-hybrid --step cuda:20ms --steps 30
is "a step that only takes time cannot show it" "$(row decode-steps state)" "not-measured"

# A decoder that gives up: before and after are two pipelines, and the longer one is judged.
decode=auto gpu_run "fail=75:8" --step cuda:10ms --steps 100
is "given up late: what came before is judged" "$(json "$OUT" '$.decode.judged_part'), $(row decode-offload state)" "before, not-found"
run "$PP" report "$T/run.sqlite"
like "is said" "$(tr -s ' \n' ' ' <"$OUT")" "GPU: gave up decoding during the run .judged: the [0-9.]+ m?s before that.: "
decode=auto gpu_run "fail=15:8" --step cuda:10ms --steps 100
is "given up early: what came after, which the CPU decoded" "$(json "$OUT" '$.decode.judged_part'), $(row decode-offload state)" "after, "

refuses "--step cuda-work without a device" 4 "--step cuda-work needs a CUDA device" env LD_LIBRARY_PATH="$FAKES" PP_FAKE_CUDA="devices=0" "$PP" run --synthetic n=10 --step cuda-work:1ms -o "$T/none.sqlite"
refuses "--step cuda-work on the host" 2 "--step cuda-work runs on the GPU" "$PP" run --synthetic n=10 --step cuda-work:1ms --device host -o "$T/none.sqlite"
done_testing
