#!/bin/bash
# quick
# whatif: a prediction that a second run confirms, knobs that are refused, and one labelled stall of the selftest.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe

# Sleeping reads depend on nobody's CPUs: two workers, 15 ms a read.
data=(--synthetic "n=2000,size=256x192" --transform "resize:64,center:64" --batch-size 8 --step-ms 20 --inject read-latency=15ms --duration 2500ms --quiet)
run timeout 60 "$PP" run "${data[@]}" --workers 2 --force -o "$T/two.sqlite"
is "recorded" "$rc" 0

run timeout 60 "$PP" whatif "$T/two.sqlite" --set workers=4 --json
cp "$OUT" "$T/whatif.json"
check "whatif --json is JSON" json_valid "$T/whatif.json"
predicted=$(json "$T/whatif.json" '$.predictions[0].samples_per_s')
run timeout 60 "$PP" run "${data[@]}" --workers 4 --json --force -o "$T/four.sqlite"
measured=$(json "$OUT" '$.samples_per_s')
echo "# four workers: predicted $predicted, measured $measured"
holds "twice the reads in flight, within 15 %" "${predicted:-0} / ${measured:-1} > 0.85 && ${predicted:-9e9} / ${measured:-1} < 1.15"

run timeout 60 "$PP" whatif "$T/two.sqlite" --sweep workers=1..4
is "a sweep has a line for each" "$(grep -c 'workers=' "$OUT")" 4
run timeout 60 "$PP" whatif "$T/two.sqlite" --estimate 20
like "the estimate names cores and reads in flight" "$(cat "$OUT")" "CPU cores.*reads in flight"

refuses "a knob that is none" 2 "did you mean workers" "$PP" whatif "$T/two.sqlite" --set wrokers=4
refuses "what a replay cannot know" 4 "cannot be predicted" "$PP" whatif "$T/two.sqlite" --set gil=none
refuses "no recording" 2 "which recording" "$PP" whatif

run timeout 60 "$PP" report "$T/two.sqlite" --json
cp "$OUT" "$T/report.json"
is "the report ranks fixes" "$(json "$T/report.json" '$.verdict.fixes[0].knob')" workers
is "and says what was ruled out" "$(json "$T/report.json" '$.verdict.ruled_out[0]' | grep -c 'failed reads')" 1
is "storage, by latency" "$(json "$T/report.json" '$.verdict.l1')/$(json "$T/report.json" '$.verdict.l2')" storage/latency

run timeout 60 "$PP" run "${data[@]}" --workers 2 --prove --force -o "$T/prove.sqlite"
like "--prove runs the best option and shows both" "$(tr -s "\n " " " <"$OUT")" "workers -> [0-9]+: .*predicted .*measured .*off by"
is "and keeps them in the recording" "$(sql "$T/prove.sqlite" "SELECT change FROM proof WHERE kind = 'fix'")" workers
refuses "--prove without a recording" 2 "leave out --no-record" "$PP" run "${data[@]}" --no-record --prove

run timeout 60 "$PP" selftest --only slow-link --seconds 2
like "selftest: a labelled stall gets its label" "$(cat "$OUT")" "^ok +26 slow-link"
like "selftest: other tools' rules in the same table" "$(cat "$OUT")" "XProf"
done_testing
