#!/bin/bash
# The lab, briefly: severe stalls of known cause get their class, on a machine where another test may be running. What the tables count is tested by test_lab; here,
# that it makes the runs it plans, keeps to its budget and says how much of the plan it did.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
LAB=$BUILD/tests/lab/lab
need_built helpers "$LAB"

# Causes that sleep: they stall a pipeline as much under background load.
run timeout 120 "$LAB" --severity severe --half tune --only storage-latency,slow-link,read-errors --seconds 4 --keep "$T/kept"
is "it runs" "$rc" 0
cp "$OUT" "$T/tables"
for row in "4 storage-latency" "26 slow-link" "28 read-errors"; do
    like "$row: its class" "$(cat "$T/tables")" "^(ok|l2) +$row +severe"
done
like "three runs are counted" "$(cat "$T/tables")" "L1 .* 3 of +3 = 100.0 %"
like "the plan is done" "$(cat "$T/tables")" "^The whole plan: 3 runs, every scenario once"
like "a row of the confusion matrix" "$(cat "$T/tables")" "^  storage +1 +0 +0 +0 +0 +0"
like "other tools' rules" "$(cat "$T/tables")" "^  DS-Analyzer"
check "a tuning seed" grep -Eq "severe +1 +wait" "$T/tables"

# The kept recordings, judged again, have the same verdicts; what others used meanwhile was not kept.
verdicts() { sed -nE 's/^(ok|l2|NO) +([0-9]+.*)others [0-9.-]+(.*)/\1 \2\3/p' "$1" | sort; }
run timeout 60 "$LAB" --again "$T/kept" --only storage-latency,slow-link,read-errors
is "kept recordings are judged again" "$rc" 0
is "and get the same verdicts" "$(verdicts "$OUT")" "$(verdicts "$T/tables")"
like "three of them" "$(cat "$OUT")" "^Judged again: the 3 recordings kept in"
refuses "a directory without recordings" 2 "holds no recording of these scenarios" "$LAB" --again "$T"
refuses "a place that cannot be made" 2 "cannot create the directory $OUT/kept for the recordings: Not a directory" "$LAB" --only slow-link --keep "$OUT/kept"
refuses "judging again and keeping" 2 "give one of them" "$LAB" --again "$T/kept" --keep "$T/kept"

# The first run tells how long one takes; five seconds have no room for all eighteen.
run timeout 120 "$LAB" --full --half report --seeds 6 --only slow-link --seconds 1 --budget 0.08
is "a plan cut short is no failure" "$rc" 0
like "and says how much of it was done" "$(cat "$OUT")" "budget of 0.08 minutes ended the plan after [1-9] of 18 runs"
like "with seeds to report" "$(cat "$OUT")" "slow-link +(mild|medium|severe) +(2|4|6|8|10|12) "

# Runs that cannot be made are told with the run's own words, and no tables are made of nothing.
mkdir "$T/own"
sed 's/--workers [0-9]*/--workers 0/' samples/scenarios/slow-link.ini >"$T/own/slow-link.ini"
run timeout 60 "$LAB" --scenarios "$T/own"
is "no run could be made: exit code" "$rc" 4
like "why not" "$(cat "$OUT")" "^-- +26 slow-link +not run: .* exited with code 2: --workers"
like "the sentence" "$(cat "$ERR")" "not one run could be made"
check "and no table" bash -c "! grep -q 'L0' '$OUT'"

refuses "a scenario that is none" 2 "did you mean slow-link" "$LAB" --only slow-lin
refuses "more seeds than are held out" 2 "held out" "$LAB" --full --half held-out --seeds 6
refuses "an operand" 2 "makes its own data" "$LAB" storage-latency
done_testing
