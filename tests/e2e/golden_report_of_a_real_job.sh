#!/bin/bash
# quick
# A recording of a real PyTorch job, made by `pipeprobe exec` (tests/recordings/train.py says how), and what the report says of it: the picture in
# README.md. A later version must read it, and may say it better: make golden.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
KEPT=$PWD/tests/golden/report-short-real-job.txt

cp tests/recordings/train.sqlite "$T/train.sqlite"
cd "$T" || exit 1
COLUMNS=80 NO_COLOR=1 "$PP" report train.sqlite >said 2>err
is "exit code" $? 0
is "no complaint" "$(cat err)" ""
if [ -n "${PP_GOLDEN_UPDATE:-}" ]; then cat said >"$KEPT"; fi
is "the report" "$(cat said)" "$(cat "$KEPT")"
is "what it is about" "$(head -n 1 said)" "train.sqlite: the job train.py"
run "$PP" whatif train.sqlite --set workers=8
is "a prediction from it" "$rc" 0
like "its rate" "$(cat "$OUT")" "samples/s"
run "$PP" whatif train.sqlite --set decode=nvjpeg:5000
is "decoding on a GPU, of a PyTorch job" "$rc" 0
like "with the rate that was stated" "$(cat "$OUT")" "rate is stated, not measured: 5,000 images/s\\. "
refuses "a published rate without the size of the images" 4 "size of the images is not in the recording" "$PP" whatif train.sqlite --set decode=nvjpeg
done_testing
