#!/bin/bash
# asleep
# whatif: a prediction that a second run confirms, knobs that are refused.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe

# Sleeping reads do not depend on CPUs: two workers, 15 ms a read.
data=(--synthetic "n=2000,size=256x192" --transform "resize:64,center:64" --batch-size 8 --step-ms 20 --inject read-latency=15ms --duration 2500ms --quiet)
# What others do between the two runs is not the prediction's fault, so there are three attempts at both.
for attempt in 1 2 3; do
    run timeout 60 "$PP" run "${data[@]}" --workers 2 --force -o "$T/two.sqlite"
    recorded=$rc
    run timeout 60 "$PP" whatif "$T/two.sqlite" --set workers=4 --json
    cp "$OUT" "$T/whatif.json"
    predicted=$(json "$T/whatif.json" '$.predictions[0].samples_per_s')
    run timeout 60 "$PP" run "${data[@]}" --workers 4 --json --force -o "$T/four.sqlite"
    measured=$(json "$OUT" '$.samples_per_s')
    echo "# four workers, attempt $attempt: predicted $predicted, measured $measured"
    awk "BEGIN { r = ${predicted:-0} / ${measured:-1}; exit !(r > 0.85 && r < 1.15) }" && break
done
is "recorded" "$recorded" 0
check "whatif --json is JSON" json_valid "$T/whatif.json"
holds "twice the reads in flight, within 15 %" "${predicted:-0} / ${measured:-1} > 0.85 && ${predicted:-9e9} / ${measured:-1} < 1.15"

run timeout 60 "$PP" whatif "$T/two.sqlite" --sweep workers=1..4
is "a sweep has a line for each" "$(grep -c 'workers=' "$OUT")" 4
like "and draws the curve" "$(cat "$OUT")" "workers=4 .*########################$"
# A foreign program's recording does not say what it ran with: the user does. What is recorded is not to be stated otherwise.
cp "$T/two.sqlite" "$T/foreign.sqlite"
sql "$T/foreign.sqlite" "DELETE FROM meta WHERE section = 'config' AND key IN ('workers', 'batch_size')"
refuses "a recording without its number of workers" 3 "does not say how many workers there were; state .*--workers N, --batch-size N" "$PP" whatif "$T/foreign.sqlite"
refuses "another number than was recorded" 2 "was recorded with 2; to predict another value use --set num_workers=3" "$PP" whatif "$T/two.sqlite" --workers 3
run timeout 60 "$PP" whatif "$T/two.sqlite" --set workers=4
head -n 2 "$OUT" | sed 's/^[^:]*//' >"$T/recorded"
run timeout 60 "$PP" whatif "$T/foreign.sqlite" --workers 2 --batch-size "$(sql "$T/two.sqlite" "SELECT value FROM meta WHERE section = 'config' AND key = 'batch_size'")" --set workers=4
check "stated facts predict what recorded ones do" cmp "$T/recorded" <(head -n 2 "$OUT" | sed 's/^[^:]*//')

# The list is by gain, as the help says; how much work there is comes last, for it is no change that one can make as such.
run timeout 60 "$PP" whatif "$T/two.sqlite" --json
check "the list is sorted by gain" test "$(sqlite3 :memory: "SELECT group_concat(key) FROM (SELECT key FROM json_each(CAST(readfile('$OUT') AS TEXT), '\$.predictions') ORDER BY json_extract(value, '\$.set') LIKE 'decode=0.5 %', json_extract(value, '\$.gain') DESC, key)")" = \
    "$(seq -s, 0 $(($(sqlite3 :memory: "SELECT json_array_length(CAST(readfile('$OUT') AS TEXT), '\$.predictions')") - 1)))"

# Decoding that leaves the CPU: the images of the run are baseline JPEG of known size.
is "the images are counted" "$(sql "$T/two.sqlite" "SELECT group_concat(key || ' ' || (value > 0), ', ') FROM (SELECT * FROM meta WHERE section = 'result' AND key LIKE 'image%' ORDER BY key)")" \
    "image_pixels 1, images 1, images_baseline_jpeg 1"
is "and how large they are" "$(sql "$T/two.sqlite" "SELECT (SELECT value FROM meta WHERE section = 'result' AND key = 'image_pixels') / (SELECT value FROM meta WHERE section = 'result' AND key = 'images') = 256 * 192")" 1
run timeout 60 "$PP" whatif "$T/two.sqlite" --set decode=nvjpeg
like "a published rate is called that" "$(cat "$OUT")" "published for an A100 .*not measured.*All images are baseline JPEG"
run timeout 60 "$PP" whatif "$T/two.sqlite" --set decode=nvjpeg:3 --json
cp "$OUT" "$T/nvjpeg.json"
is "a stated one as well" "$(json "$T/nvjpeg.json" '$.gpu_decode.rate')" stated
holds "and it is the bound, as far off as the replay is" "$(json "$T/nvjpeg.json" '$.predictions[0].samples_per_s') > 1.5 && $(json "$T/nvjpeg.json" '$.predictions[0].samples_per_s') < 6"

refuses "a sweep that ends before it begins" 2 "whole numbers from 1 on" "$PP" whatif "$T/two.sqlite" --sweep workers=4..2
refuses "a sweep with more behind it" 2 "workers=1..32" "$PP" whatif "$T/two.sqlite" --sweep workers=1..4x
refuses "a sweep of what has no numbers" 2 "True|False" "$PP" whatif "$T/two.sqlite" --sweep order=1..2
refuses "a sweep of what a replay cannot know" 4 "cannot be predicted" "$PP" whatif "$T/two.sqlite" --sweep gpu-decode=1..2
refuses "more than a replay is made for" 4 "samples in flight" "$PP" whatif "$T/two.sqlite" --set workers=1024 --set prefetch=100
refuses "a count beyond its range says the range" 2 "from 0 to 1024" "$PP" whatif "$T/two.sqlite" --set workers=1025
run timeout 60 "$PP" whatif "$T/two.sqlite" --set workers=64 --set step-ms=1
like "far more reads at a time than were recorded: said so" "$(cat "$OUT")" "Assumes that storage serves [0-9.]+ parallel reads as fast as the [0-9]+ recorded"
run timeout 60 "$PP" whatif "$T/two.sqlite" --set workers=3
is "a few more are no news" "$(grep -c 'Assumes that storage' "$OUT")" 0
refuses "no number" 2 "workers=N" "$PP" whatif "$T/two.sqlite" --set workers=many
refuses "nonsense is said before anything is printed" 2 "storage-latency=cached|FACTOR" "$PP" whatif "$T/two.sqlite" --set storage-latency=-1 --json
is "and nothing was" "$(cat "$OUT")" ""

run timeout 60 "$PP" whatif "$T/two.sqlite" --estimate 20
like "the estimate names cores" "$(cat "$OUT")" "CPU  .*usable cores"
like "and the workers that keep up" "$(cat "$OUT")" "workers .*busy on average; replayed with [0-9]+: .*stall"
run timeout 60 "$PP" whatif "$T/two.sqlite" --estimate 20 --json
cp "$OUT" "$T/estimate.json"
holds "8 samples in 20 ms" "$(json "$T/estimate.json" '$.estimate.samples_per_s') == 400"
# 15 ms of reading, and some decoding, 400 times a second
holds "which six reads wait for at a time" "$(json "$T/estimate.json" '$.estimate.reads_waiting') > 5.9 && $(json "$T/estimate.json" '$.estimate.reads_waiting') < 7.5"
workers=$(json "$T/estimate.json" '$.estimate.workers')
run timeout 60 "$PP" run "${data[@]}" --workers "${workers:-1}" --json --force -o "$T/enough.sqlite"
measured=$(json "$OUT" '$.samples_per_s')
echo "# $workers workers for a step of 20 ms: $measured of 400 samples/s"
holds "that many workers keep up with the step for real" "${measured:-0} > 0.85 * 400"
run timeout 60 "$PP" whatif "$T/two.sqlite" --estimate 0.01
like "a step that cannot be reached says what bounds it" "$(cat "$OUT")" "at most, a step of"
refuses "no step at all" 2 "estimate" "$PP" whatif "$T/two.sqlite" --estimate 0

run timeout 60 "$PP" whatif --set list
sed 's/^  \([^ ]*\) *\(.*\)$/\1 \2/' "$OUT" >"$T/knobs.told"
sed -n 's/^| `\(.*\)` | \(.*\) |$/\1 \2/p' docs/reference/knobs.md | sed 's/\\|/|/g' >"$T/knobs.page"
check "docs/reference/knobs.md has the knobs that --set list has" cmp "$T/knobs.told" "$T/knobs.page"
holds "all of them" "$(grep -c = "$T/knobs.told") >= 19"
refuses "a knob that is none" 2 "did you mean num_workers" "$PP" whatif "$T/two.sqlite" --set wrokers=4
refuses "what a replay cannot know" 4 "cannot be predicted" "$PP" whatif "$T/two.sqlite" --set gil=none
refuses "no recording" 2 "no recording given" "$PP" whatif

run timeout 60 "$PP" report "$T/two.sqlite" --json
cp "$OUT" "$T/report.json"
is "the report ranks fixes" "$(json "$T/report.json" '$.verdict.fixes[0].knob')" workers
is "and says what was ruled out" "$(json "$T/report.json" '$.verdict.ruled_out[0]' | grep -c 'failed reads')" 1
is "storage, by latency" "$(json "$T/report.json" '$.verdict.l1')/$(json "$T/report.json" '$.verdict.l2')" storage/latency

run timeout 60 "$PP" run "${data[@]}" --workers 2 --prove --force -o "$T/prove.sqlite"
like "--prove runs the best option and shows both" "$(tr -s "\n " " " <"$OUT")" "workers -> [0-9]+: .*predicted .*measured .*off by"
is "and keeps them in the recording" "$(sql "$T/prove.sqlite" "SELECT change FROM proof WHERE kind = 'fix'")" workers
refuses "--prove without a recording" 2 "leave out --no-record" "$PP" run "${data[@]}" --no-record --prove
done_testing
