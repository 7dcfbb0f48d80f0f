#!/bin/bash
# The page of a run has its clock, queue and epochs to look closer at; the page of two says where the time of a sample went. No scripts in either.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe

"$MAKE_DATASET" "$T/images" --n 64 --size 120x90 --classes 4 >/dev/null
record() { # FILE OPTIONS...
    timeout 60 "$PP" run "$T/images" --workers 2 --batch-size 8 --step-ms 3 --epochs 3 --warmup 3 --seed 1 --quiet --force -o "$1" "${@:2}" >"$T/run.out" 2>&1
    [ $? -eq 0 ] || [ $? -eq 3 ] || note <"$T/run.out" # 3: so short a run has no verdict, but pictures
}
record "$T/a.sqlite" --inject read-latency=10ms
record "$T/b.sqlite"

run "$PP" report "$T/a.sqlite" -o "$T/a.html"
like "the page is named, with the answer" "$(cat "$OUT")" "^$T/a.html: .* samples/s"
page=$(cat "$T/a.html")
like "the clock is said once" "$page" 'All times are since the run started'
like "the trainer's strip is an overview" "$page" '<a href="#part-2" title="epoch 2"'
is "an epoch each" "$(grep -o '<summary>Epoch [0-9]*' "$T/a.html" | tr '\n' ' ')" "<summary>Epoch 0 <summary>Epoch 1 <summary>Epoch 2 "
is "of which each has its place" "$(grep -o 'id="part-[0-9]*"' "$T/a.html" | tr '\n' ' ')" 'id="part-0" id="part-1" id="part-2" '
check "no script and nothing from elsewhere" bash -c "! grep -qE '<script|src=|https?:' '$T/a.html'"
run "$PP" report "$T/a.sqlite" --json
is "slices begin with the run" "$(json "$OUT" '$.series.slices.start_s[0]')" 0
sum_is() { awk "BEGIN {exit !(($1) / ($2) > 0.999999 && ($1) / ($2) < 1.000001)}"; }
spent() { sqlite3 :memory: "SELECT sum(json_extract(value, '$.$2')) FROM json_each(CAST(readfile('$1') AS TEXT), '$.spent')"; }
check "the time of a sample adds up" sum_is "$(spent "$OUT" per_sample_ns)" "1e9 / $(json "$OUT" '$.samples_per_s')"

run "$PP" compare "$T/a.sqlite" "$T/b.sqlite" -o "$T/diff.html"
is "one run a side decides nothing" "$rc" 3
like "where the page is, and what it says" "$(cat "$OUT")" "^$T/diff.html: [A-Za-z].*"
page=$(cat "$T/diff.html")
like "the difference in its first line" "$page" '<h1>[0-9,.]* samples/s instead of [0-9,.]*: '
like "what was changed" "$page" 'config.inject'
like "what the wait was" "$page" 'waits for data: read'
is "both strips" "$(grep -c 'Trainer time over the run' "$T/diff.html")" 2
check "no script, nothing from elsewhere" bash -c "! grep -qE '<script|src=|https?:' '$T/diff.html'"
run "$PP" compare "$T/a.sqlite" "$T/b.sqlite" --json
check "each side's kinds add up to its sample" sum_is "$(spent "$OUT" base_ns)" "1e9 / $(json "$OUT" '$.metrics[0].base_median')"
check "the other's, too" sum_is "$(spent "$OUT" head_ns)" "1e9 / $(json "$OUT" '$.metrics[0].head_median')"
run "$PP" compare "$T/a.sqlite" "$T/b.sqlite" --format md
like "Markdown has the table" "$(cat "$OUT")" '\| where the time of a sample goes \| BASE'
run "$PP" ci run -n 2 -o "$T/ci.html" -- run "$T/images"
is "a gate has no page" "$rc" 2
done_testing
