#!/bin/bash
# run --prove: the best fix and the run with free input are made for real, stored in the recording itself, and shown by every form of the report.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe

# 15 ms a read and nothing else: neither the CPUs nor who else is on them decide what comes out.
slow=(--synthetic n=2000,size=64x64 --transform resize:64,center:64 --workers 2 --batch-size 8 --step-ms 20 --inject read-latency=15ms --duration 2)
file=$T/job.sqlite
run timeout 120 "$PP" run "${slow[@]}" --prove --prove-rounds 2 -o "$file"
is "it runs" "$rc" 0
like "the rounds are told as they go" "$(cat "$ERR")" "proving +free-input, round 2 of 2"
like "the report shows the proof" "$(cat "$OUT")" "^Proved: +[a-z -]+> [^:]+: predicted [0-9,.]+, measured [0-9,.]+ samples/s, off by"
like "and that of the infinitely fast loader" "$(cat "$OUT")" "loader infinitely fast: predicted [0-9,.]+, measured [0-9,.]+ samples/s"
like "the loader is infinitely fast beside load in its place" "$("$PP" report "$file" --full | tr -s '\n ' ' ')" "Proved by experiment.*loader infinitely fast \(cached batches\), [0-9.]+ CPUs kept busy"
is "one row for the fix, one for the headroom" "$(sql "$file" "SELECT group_concat(kind, ' ') FROM proof")" "fix headroom"
holds "the fix is proved to gain" "$(sql "$file" "SELECT measured_samples_per_s / base_samples_per_s FROM proof WHERE kind = 'fix'") > 1.15"
holds "and so is free input" "$(sql "$file" "SELECT measured_samples_per_s / base_samples_per_s FROM proof WHERE kind = 'headroom'") > 1.5"
holds "of two rounds the spread is known" "$(sql "$file" "SELECT min(measured_low <= measured_samples_per_s AND measured_samples_per_s <= measured_high AND rounds = 2) FROM proof") == 1"
is "the proving runs' own recordings are gone" "$(find "$T" -name '*.sqlite' | wc -l)" 1

run "$PP" report "$file" --json
cp "$OUT" "$T/report.json"
is "JSON has it" "$(json "$T/report.json" '$.proof[1].change')" free-input
for format in html md csv; do
    run "$PP" report "$file" --format $format
    like "$format has it" "$(cat "$OUT")" "Proved by experiment|^proof,|,proof,|proof/"
done

run timeout 60 "$PP" run "${slow[@]}" --prove --keep-proof --quiet --force -o "$file"
is "--keep-proof keeps them" "$(find "$T" -name 'job-proof-*.sqlite' | wc -l)" 2
kept=$(sql "$file" "SELECT recording FROM proof WHERE kind = 'headroom'")
run "$PP" report "$kept" --json
holds "the kept recording is the one that was measured" "1e-9 > 1 - $(json "$OUT" '$.samples_per_s') / $(sql "$file" "SELECT measured_samples_per_s FROM proof WHERE kind = 'headroom'")"

# A trainer that never waits has nothing to gain from free input: the prediction and the run agree.
run timeout 60 "$PP" run --synthetic n=200,size=64x64 --transform resize:64,center:64 --workers 2 --batch-size 4 --step-ms 60 --duration 2 --prove --force --quiet -o "$file"
holds "no wait, no headroom" "$(sql "$file" "SELECT abs(measured_samples_per_s / base_samples_per_s - 1) FROM proof WHERE kind = 'headroom'") < 0.05"

run timeout 60 "$PP" run --synthetic n=200,size=64x64 --duration 1 --prove --force -o "$file"
is "without a step there is no headroom, and that is no failure" "$(sql "$file" "SELECT count(*) FROM proof WHERE kind = 'headroom'")" 0
like "what cannot be proved is said" "$(cat "$ERR")" "without a step"
refuses "free input and --prove are not for one command line" 2 "leave out --cached-batches" "$PP" run "${slow[@]}" --prove --cached-batches -o "$T/no.sqlite"
refuses "cached batches have no list of what was delivered" 2 "--list-delivered" "$PP" run "${slow[@]}" --cached-batches --list-delivered "$T/list" -o "$T/no.sqlite"
done_testing
