#!/bin/bash
# JPEG decoded on the GPU through the whole program, on the stand-ins of driver and nvJPEG: the same batches as on the CPU, what is recorded, what is
# decoded where, and what happens without the library, without engines, without memory, and when the decoder or the device fails.
#
# PIPEPROBE_TEST_DEVICE=1: on this machine's GPU, where pixels are close instead of equal, and what only a stand-in can be told is skipped.
DEVICE=${PIPEPROBE_TEST_DEVICE:-} # before lib.sh, which clears such variables
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
FAKES=$PWD/$BUILD/tests/fake
need_built helpers "$FAKES/libcuda.so.1" "$FAKES/libnvjpeg.so.12" "$MAKE_DATASET"
[ -z "$DEVICE" ] || FAKES=${LD_LIBRARY_PATH:-}
[ -z "$DEVICE" ] || "$PP" doctor --only 'CUDA driver' | grep -q ^yes || skip_all "there is no usable CUDA device"

size=120x90
[ -z "$DEVICE" ] || size=240x180 # smaller ones are edges of colour for the most part
"$MAKE_DATASET" "$T/images" --n 150 --size "$size" --odd >/dev/null
gpu_run() { # DRIVER NVJPEG ARGUMENTS...: pipeprobe run with the stand-ins so configured
    local cuda=$1 nvjpeg=$2
    shift 2
    [ -z "$DEVICE" ] || nvjpeg=${PP_FAKE_NVJPEG:-} # of the stand-ins that are in the place of NVIDIA's libraries
    run timeout 100 env LD_LIBRARY_PATH="$FAKES" PP_FAKE_CUDA="$cuda" PP_FAKE_NVJPEG="$nvjpeg" "$PP" run "$T/images" --transform rrc:48,hflip,normalize=imagenet --workers 2 --batch-size 16 --epochs 1 --seed 5 --force -o "$T/run.sqlite" "$@"
}
meta() { sql "$T/run.sqlite" "SELECT value FROM meta WHERE section = '$1' AND key = '$2'"; }
ended_well() { test "$rc" -eq 0 -o "$rc" -eq 3; } # 3: so short a run may be inconclusive
digest() { sed -n 's/^digest *//p' "$OUT" "$ERR"; }
same_batches() { # NAME
    if [ -z "$DEVICE" ]; then is "$1: the same batches" "$(digest)" "$cpu"
    else holds "$1: the pixels of the images are close" "$(meta decode compared) > 20 && $(meta decode difference_mean) <= 1"; fi
}

gpu_run "" "" --decode cpu --digest
check "on the CPU" ended_well
cpu=$(digest) errors=$(meta result errors) samples=$(meta result samples)
holds "there are damaged files" "$errors >= 3"
is "config.decode" "$(meta config decode)" cpu

# With the CPU's way of upsampling the pixels are equal, so the batches are: bytes, resize, flip, normalise, and the rows of other files between them.
for words in "fancy=1" "fancy=1;roi=0" "fancy=1;engines=0" "fancy=1;refuse=120"; do
    [ -z "$DEVICE" ] || words=
    gpu_run "" "$words" --decode nvjpeg --copy-buffers 4 --digest
    check "$words: decoded on the GPU" ended_well
    same_batches "$words"
    is "$words: the same errors" "$(meta result errors), $(meta result samples)" "$errors, $samples"
    [ -z "$DEVICE" ] || break
done
for backend in hardware hardware-device gpu-hybrid hybrid; do
    gpu_run "" "${DEVICE:-fancy=1}" --decode nvjpeg --nvjpeg-backend $backend --digest
    if [ -n "$DEVICE" ] && [ "$rc" -eq 4 ]; then skip "--nvjpeg-backend $backend" "$(tail -n 1 "$ERR" | cut -c1-150)"; continue; fi
    same_batches "--nvjpeg-backend $backend"
    is "$backend: in the file, and whether it decodes parts of images" "$(meta decode backend | tr A-Z_ a-z-) $(sql "$T/run.sqlite" "SELECT value > 0 FROM meta WHERE section = 'decode' AND key = 'regions'")" \
        "$backend $([ $backend = hardware ] && echo 1 || echo 0)"
done
if [ -n "$DEVICE" ]; then
    gpu_run "" "" --decode nvjpeg --wire u8
    same_batches "--wire u8"
    gpu_run "" "" --decode auto --copy-buffers 4 --step cuda:2ms
    holds "most images are decoded on the device" "$(meta decode images) > 0.6 * $samples"
    is "a span of the device for each batch" "$(sql "$T/run.sqlite" "SELECT count(DISTINCT batch) = (SELECT count(DISTINCT batch) FROM v_span WHERE phase = 'h2d'), sum(samples) = $(meta decode images) FROM v_span
        WHERE phase = 'gpu_decode' AND lane = 'device'")" "1|1"
    skip "libraries, back ends and devices that are lacking, fail or are lost" "only a stand-in can be told to"
    done_testing
fi
PIPEPROBE_NVJPEG_LIB=$FAKES/libnvjpeg.so.10 gpu_run "" "fancy=1" --decode nvjpeg --digest
is "an older library decodes whole images, and gives the same batches" "$(digest), $(meta decode backend), $(meta decode regions)" "$cpu, HARDWARE, 0"
gpu_run "" "engines=0" --decode nvjpeg --nvjpeg-backend hardware
is "engines that are not there: exit code" "$rc" 4
like "and one sentence" "$(cat "$ERR")" "--decode nvjpeg: nvJPEG's back end HARDWARE cannot be used: this GPU has no JPEG engine"
refuses "a back end without --decode" 2 "--nvjpeg-backend goes with --decode" "$PP" run "$T/images" --nvjpeg-backend hybrid
gpu_run "" "fancy=1" --decode nvjpeg --wire u8 --digest
u8=$(digest)
gpu_run "" "" --decode cpu --wire u8 --digest
is "--wire u8: the same batches" "$u8" "$(digest)"

gpu_run "" "engines=7;cores=1" --decode auto --copy-buffers 4
check "an engine's upsampling" ended_well
like "the back end is named" "$(cat "$ERR")" "decode +nvJPEG 12.4, back end HARDWARE, 7 engines of 1 core"
like "and how pixels differ" "$(cat "$ERR")" "pixels of the first [1-9][0-9]* differ from libjpeg-turbo's by [0-9.]+ of 255 on average, [1-9][0-9]* at most"
is "config.decode is what auto became" "$(meta config decode), $(meta decode backend), $(meta decode engines)" "nvjpeg, HARDWARE, 7"
is "the differences are in the file" "$(sql "$T/run.sqlite" "SELECT count(*) FROM meta WHERE section = 'decode' AND key IN ('compared', 'difference_mean', 'difference_max')")" 3
holds "and those of each sampling" "$(sql "$T/run.sqlite" "SELECT sum(value) FROM meta WHERE section = 'decode' AND key LIKE 'difference\_%\_images' ESCAPE '\'") == $(meta decode compared)"
run "$PP" report "$T/run.sqlite" --json
is "the report's document has them" "$(json "$OUT" '$.decode.backend'), $(sql :memory: "SELECT sum(json_extract(value, '\$.images')) = $(meta decode compared) FROM json_each(CAST(readfile('$OUT') AS TEXT), '\$.decode.differences')")" "HARDWARE, 1"
run "$PP" report "$T/run.sqlite" --full
like "and so has the report" "$(tr -s ' \n' ' ' <"$OUT")" "Decoded on the GPU .whole run. back end HARDWARE of libnvjpeg.so.12 .7 engines of 1 core.: [0-9]+ images.* pixels against libjpeg-turbo's images mean, of 255 max 4:[24]:[0-4]"
holds "most images are decoded on the device" "$(meta decode images) > 0.6 * $samples"
holds "and not all" "$(meta decode images) < $samples"
is "a span of the device for each batch" "$(sql "$T/run.sqlite" "SELECT count(DISTINCT batch) = (SELECT count(DISTINCT batch) FROM v_span WHERE phase = 'h2d'), sum(samples) = $(meta decode images) FROM v_span
    WHERE phase = 'gpu_decode' AND lane = 'device'")" "1|1"
is "between its batch's last row and its arrival" "$(sql "$T/run.sqlite" "SELECT count(*) FROM v_span s JOIN v_span h ON h.batch = s.batch AND h.phase = 'h2d' JOIN v_span c ON c.batch = s.batch AND c.phase = 'collate'
    WHERE s.phase = 'gpu_decode' AND s.lane = 'device' AND (s.start_ns + s.dur_ns < c.start_ns OR s.start_ns > h.start_ns + h.dur_ns)")" 0
is "when a batch left its queue is known of each" "$(sql "$T/run.sqlite" "SELECT count(DISTINCT batch) = (SELECT count(DISTINCT batch) FROM v_span WHERE phase = 'h2d') FROM v_span WHERE phase = 'get_wait'")" 1
is "the workers decode the other images" "$(sql "$T/run.sqlite" "SELECT count(DISTINCT sample) > 0 FROM v_span WHERE phase = 'transform'")" 1
run "$PP" report "$T/run.sqlite" --json
is "the report has the device's lane" "$(sql :memory: "SELECT count(*) FROM json_each(CAST(readfile('$OUT') AS TEXT), '\$.phases') WHERE json_extract(value, '\$.phase') = 'gpu_decode' AND json_extract(value, '\$.lane') = 'device'")" 1
run "$PP" export "$T/run.sqlite" --to perfetto -o "$T/trace.json" --force
check "and so has the timeline" grep -q gpu_decode "$T/trace.json"

# What cannot be used is said in a sentence, and auto goes on.
for row in "no library|there is no nvJPEG here|none" "too old|libnvjpeg.so.11 is too old: nvJPEG 12.4 has no nvjpegGetHardwareDecoderInfo|old" "it does not start|cannot be started on this device .status 6|start"; do
    IFS='|' read -r name says how <<<"$row"
    mkdir -p "$T/$how" && ln -sf "$FAKES/libcuda.so.1" "$T/$how/"
    words="" lib=
    case $how in
    none) lib= ;;
    old) lib=$FAKES/libnvjpeg.so.11 ;;
    start) lib=$FAKES/libnvjpeg.so.12 words="create-any=6" ;;
    esac
    if [ "$how" = none ] && ldconfig -p | grep -q libnvjpeg; then
        skip "$name" "nvJPEG is installed in the system"
        continue
    fi
    FAKES=$T/$how PIPEPROBE_NVJPEG_LIB=$lib gpu_run "" "$words" --decode auto --digest
    check "$name: auto goes on" ended_well
    like "$name: and says why" "$(cat "$ERR")" "decode +on the CPU: .*$says"
    is "$name: on the CPU, as the file knows" "$(digest), $(meta config decode)" "$cpu, cpu"
    like "$name: with the reason" "$(meta chosen decode)" "$says"
    FAKES=$T/$how PIPEPROBE_NVJPEG_LIB=$lib gpu_run "" "$words" --decode nvjpeg
    is "$name: asked for by name it is an error" "$rc" 4
    like "$name: of one sentence" "$(cat "$ERR")" "--decode nvjpeg: .*$says.*--decode auto"
done
NVIDIA_DRIVER_CAPABILITIES=compute,utility gpu_run "" "create=8" --decode auto
like "a container without video decodes without engines, and says why" "$(cat "$ERR")" "back end HYBRID; this container may not use the GPU's JPEG engines: NVIDIA_DRIVER_CAPABILITIES=compute,utility lacks video"
CUDA_VISIBLE_DEVICES= gpu_run "" "" --decode auto --digest
check "CUDA_VISIBLE_DEVICES=: auto goes on" ended_well
like "and says why" "$(cat "$ERR")" 'decode +on the CPU: .*CUDA_VISIBLE_DEVICES="" leaves no CUDA device'
is "on the CPU" "$(digest), $(meta config decode)" "$cpu, cpu"
CUDA_VISIBLE_DEVICES= gpu_run "" "" --decode nvjpeg
is "nvjpeg is an error" "$rc" 4
like "of one sentence" "$(cat "$ERR")" '--decode nvjpeg: .*CUDA_VISIBLE_DEVICES="" leaves no CUDA device.*--decode auto'
gpu_run "name=NVIDIA A100-SXM4-40GB MIG 1g.5gb" "engines=0" --decode auto
like "a slice without engines decodes without them, and says why" "$(cat "$ERR")" "back end HYBRID; this MIG slice has no JPEG engine .NVIDIA A100-SXM4-40GB MIG 1g.5gb"
gpu_run "name=NVIDIA H100 MIG 4g.40gb" "engines=4;cores=1" --decode auto
like "one with engines names those of the slice" "$(cat "$ERR")" "back end HARDWARE, 4 engines of 1 core"
refuses "on the host device" 2 "--decode nvjpeg decodes on the GPU" "$PP" run "$T/images" --decode nvjpeg --device host

# In the middle of a run.
gpu_run "fail=cuMemAlloc_v2:2:2" "fancy=1" --decode auto --digest
check "no memory on the device: auto goes on" ended_well
like "and says so" "$(cat "$ERR")" "--decode auto goes on on the CPU: reserving [0-9]+ MiB on the device for the pixels of [0-9]+ images failed"
is "with the same batches" "$(digest)" "$cpu"
"$MAKE_DATASET" "$T/large" --n 1 --size 1600x1200 >/dev/null
class=$(find "$T/images" -mindepth 1 -type d | sort | head -n 1)
cp "$(find "$T/large" -name '*.jpg' | head -n 1)" "$class/large.jpg"
gpu_run "" "" --decode cpu --digest
large=$(digest)
gpu_run "device-mib=16" "fancy=1" --decode nvjpeg --digest
is "an image too large for the device is the CPU's, and the others are not" "$rc $(digest) $(meta decode too_large) $(sql "$T/run.sqlite" "SELECT value > 50 FROM meta WHERE section = 'decode' AND key = 'images'")" "$([ "$rc" -eq 3 ] && echo 3 || echo 0) $large 1 1"
like "which is said" "$(cat "$ERR")" "note +an image of [0-9]+ x [0-9]+ pixels is too large for the GPU's memory .[0-9]+ pixels at most.: the CPU decodes such images"
rm "$class/large.jpg"
gpu_run "" "fancy=1;fail=3:5" --decode auto --digest
check "no memory for nvJPEG: auto goes on" ended_well
like "and says so" "$(cat "$ERR")" "--decode auto goes on on the CPU: .*ALLOCATOR_FAILURE"
is "with the same batches" "$(digest)" "$cpu"
like "the file knows" "$(meta decode gave_up)" "ALLOCATOR_FAILURE"
gpu_run "" "fail=3:8" --decode nvjpeg
is "nvjpeg ends: exit code" "$rc" 4
is "the recording is kept" "$(meta run outcome), $(sql "$T/run.sqlite" 'PRAGMA integrity_check')" "failed, ok"
gpu_run "" "poison=120" --decode nvjpeg
is "a device that is lost ends a run of nvjpeg: exit code" "$rc" 4
like "one sentence" "$(cat "$ERR")" "an illegal memory access.*the device may be lost"
is "its recording is kept" "$(meta run outcome), $(sql "$T/run.sqlite" 'PRAGMA integrity_check')" "failed, ok"
gpu_run "" "fancy=1;poison=120" --decode auto --step-ms 1 --sync-every-step --digest
check "auto goes on without the device" ended_well
like "and says what it does" "$(cat "$ERR")" "--decode auto goes on without the GPU: from here on the CPU decodes.*the steps sleep; .*an illegal memory access"
is "with the same batches and errors" "$(digest), $(meta result errors), $(meta run outcome)" "$cpu, $errors, finished"
like "the file knows" "$(meta decode lost)" "an illegal memory access"
holds "and when" "$(meta decode lost_mono_ns) > $(meta result trainer_start_mono_ns)"
is "the event is among its notes" "$(sql "$T/run.sqlite" "SELECT count(*) FROM error WHERE kind = 'warning' AND action = 'noted' AND reason LIKE '%goes on without the GPU%'")" 1
run "$PP" report "$T/run.sqlite"
like "the report has the sentence" "$(tr -s ' \n' ' ' <"$OUT")" "GPU: lost during the run, which went on without it( .judged: the [^)]* that.)?: "
run "$PP" report "$T/run.sqlite" --json
like "and does not judge the GPU" "$(json "$OUT" '$.gpu.not_measured')" "the GPU was lost, and the run went on without it"

# What is predicted of decoding on the GPU is run: beside the fix that gains most, or in its place.
proved() { # NVJPEG-LIBRARY
    run timeout 100 env LD_LIBRARY_PATH="$FAKES" PP_FAKE_CUDA="name=NVIDIA A100-SXM4-40GB" PIPEPROBE_NVJPEG_LIB="$1" "$PP" run "$T/images" --transform resize:48,center:48 --workers 1 --batch-size 8 --step-ms 1 \
        --inject decode-cost=6 --duration 1.5 --device cuda --prove --keep-proof --force -o "$T/prove.sqlite"
}
# On a machine that is busy with other things the recording may have another cause, and then offers no such fix.
offered() { "$PP" report "$T/prove.sqlite" --json >"$T/prove.json" && [ "$(sql :memory: "SELECT count(*) FROM json_each(CAST(readfile('$T/prove.json') AS TEXT), '\$.verdict.fixes') WHERE json_extract(value, '\$.knob') = 'gpu-decode' AND json_extract(value, '\$.gain') >= 0.03")" = 1 ]; }
proved "$FAKES/libnvjpeg.so.12"
check "--prove" ended_well
if ! offered; then skip "it ran decode=nvjpeg" "under this load the recording offers no decoding on the GPU"
else
    is "it ran decode=nvjpeg" "$(sql "$T/prove.sqlite" "SELECT kind, change, rounds, measured_samples_per_s > 0 FROM proof WHERE change = 'gpu-decode'")" "fix|gpu-decode|1|1"
    is "with the GPU's decoder" "$(sql "$(sql "$T/prove.sqlite" "SELECT recording FROM proof WHERE change = 'gpu-decode'")" "SELECT value FROM meta WHERE section = 'config' AND key = 'decode'")" nvjpeg
fi
is "and no change twice" "$(sql "$T/prove.sqlite" "SELECT count(*) = count(DISTINCT change) AND count(*) <= 3 FROM proof")" 1
proved "$T/none.so"
cp "$ERR" "$T/none.err"
if ! offered; then skip "where there is none it says why" "under this load the recording offers no decoding on the GPU"
else
    like "where there is none it says why" "$(cat "$T/none.err")" "proving +not --decode=nvjpeg: PIPEPROBE_NVJPEG_LIB: nvJPEG cannot be opened"
fi
is "and proves the rest" "$(sql "$T/prove.sqlite" "SELECT sum(change = 'gpu-decode'), sum(kind = 'headroom') FROM proof")" "0|1"

run env LD_LIBRARY_PATH="$FAKES" PP_FAKE_NVJPEG="engines=7;cores=1" "$PP" doctor
like "doctor: engines and back end" "$(tr -s ' \n' ' ' <"$OUT")" "yes nvJPEG nvJPEG 12.4, 7 engines of 1 core, back end HARDWARE"
run env LD_LIBRARY_PATH="$FAKES" PP_FAKE_NVJPEG="engines=0;batch-us=1;image-us=1" "$PP" doctor --nvjpeg --json
is "doctor --nvjpeg: a rate for each batch of each back end" "$(sql :memory: "SELECT group_concat(json_extract(value, '\$.backend') || ' ' || json_array_length(value, '\$.rates')) FROM json_each(CAST(readfile('$OUT') AS TEXT), '\$.nvjpeg.backends')")" "HARDWARE 0,HARDWARE_DEVICE 0,GPU_HYBRID 4,HYBRID 4"
like "and why engines have none" "$(json "$OUT" '$.nvjpeg.backends[0].not_measured')" "this GPU has no JPEG engine"
is "pixels by sampling" "$(sql :memory: "SELECT group_concat(json_extract(value, '\$.sampling') || ' ' || json_extract(value, '\$.images') || ' ' || (json_extract(value, '\$.max') > 0)) FROM json_each(CAST(readfile('$OUT') AS TEXT), '\$.nvjpeg.differences')")" "4:4:4 8 0,4:2:2 8 1,4:2:0 8 1,gray 8 0"
run env LD_LIBRARY_PATH="$FAKES" PP_FAKE_CUDA=devices=0 "$PP" doctor --nvjpeg
like "doctor --nvjpeg without a device" "$(cat "$OUT")" "JPEG on the GPU was not measured: .*there is no CUDA device"
run env LD_LIBRARY_PATH="$FAKES" PP_FAKE_NVJPEG="create=8" NVIDIA_DRIVER_CAPABILITIES=compute,utility "$PP" doctor
like "doctor: a container without video" "$(tr -s ' \n' ' ' <"$OUT")" "back end GPU_HYBRID: this container may not use the GPU's JPEG engines: NVIDIA_DRIVER_CAPABILITIES=compute,utility lacks video"
done_testing
