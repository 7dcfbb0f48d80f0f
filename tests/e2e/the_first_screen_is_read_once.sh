#!/bin/bash
# A reading check of the first screen: no sentence of the answer (what it stalls, why, what to do) has more than 25 words, and at most six numbers stand
# before the advice. Over all kept reports, and what today's program says of the kept recordings.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe

# Sentences of the answer: from the second line to the lines for numbers, joined where they were wrapped. A line to paste and a command are none.
sentences() {
    awk 'NR == 1 { next }
        /^(In wait|Because|Errors|Lost|More|Flags|Proved|Costs|Also|PyTorch):/ { exit }
        /^ *$/ || /DataLoader\(|^ +(persistent|pin_memory)/ { next }
        { line = $0; sub(/^[A-Z][A-Za-z]*: +/, "\n", line); sub(/^ +/, "", line); text = text " " line }
        END { print text }' "$1" | sed -E 's/\[[A-Z0-9-]+[^]]*\]//g; s/(\*\*|`)//g; s/([.;:]) +/\1\n/g'
}
words_most() { sentences "$1" | awk 'NF > most { most = NF; line = $0 } END { print most + 0, line }'; }
numbers_before_do() { # a number with its unit is one; so is a name with a digit in it
    awk 'NR == 1 { next } /^Do:/ { exit } { print }' "$1" | sed -E 's/\[[A-Z0-9-]+[^]]*\]//g' | tr ' ' '\n' | grep -cE '^\(?[+-]?[0-9][0-9,.]*[,.;:)%]*$'
}
for file in tests/golden/report-short*.txt; do cp "$file" "$T/$(basename "$file")"; done
for recording in tests/recordings/*.sqlite; do
    cp "$recording" "$T/kept.sqlite"
    run "$PP" report "$T/kept.sqlite"
    cp "$OUT" "$T/report-of-$(basename "$recording" .sqlite).txt"
done
for file in "$T"/report-*.txt; do
    name=$(basename "$file" .txt)
    read -r most line < <(words_most "$file")
    check "$name: 25 words a sentence at most, $most: $line" test "$most" -le 25
    n=$(numbers_before_do "$file")
    check "$name: six numbers before the advice at most, $n" test "$n" -le 6
done
check "there were reports" test "$tests" -ge 20
done_testing
