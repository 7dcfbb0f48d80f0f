#!/bin/bash
# Over all kept recordings: every text fits the width it is given, at 80 and 40 columns; `report --full` has at 80 all the words of a wide one, and whatif also at
# 40. And the first change is the same in all that name it: report, dashboard, page, answer, whatif, with the same rate and gain.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
JUDGE=$PWD/tests/e2e/one_voice_that_fits_the_screen.py
kept=0
keep() { # NAME COLUMNS EXIT-CODES: what the last command said is judged at the end, by one process for all of it
    kept=$((kept + 1))
    cat "$OUT" "$ERR" >"$T/text.$kept"
    printf '%s\t%s\t%s\t%s\t%s\n' "$1" "$2" "$rc" "$3" "$T/text.$kept" >>"$T/texts"
}
fits() { # NAME EXIT-CODES COMMAND...: at both widths, and in a wide one, which stays in $OUT
    local name=$1 codes=$2 columns
    shift 2
    for columns in 80 40 400; do
        COLUMNS=$columns run "$@"
        keep "$name" $columns "$codes"
    done
}
plain() { sed 's/<[^>]*>//g; s/&lt;/</g; s/&gt;/>/g; s/&#39;/'"'"'/g; s/&quot;/"/g; s/&amp;/\&/g'; }

cp tests/recordings/train.sqlite "$T"
for packed in samples/stallbench/*.sqlite.gz; do gzip -dc "$packed" >"$T/$(basename "$packed" .gz)"; done
cd "$T" || exit 1
named=0
for file in *.sqlite; do
    fits "report --full $file" "[0-3]" "$PP" report --full "$file"
    fits "whatif $file" "[0-3]" "$PP" whatif "$file"
    cp "$OUT" "$T/whatif"
    for size in 80x24 40x20; do
        run "$PP" top --once --size $size "$file"
        keep "top $size $file" ${size%x*} 0
    done

    fits "report $file" "[0-3]" "$PP" report "$file"
    gain=$(sed -n 's/^Gain: *//p' "$OUT") do=$(sed -n 's/^Do: *//p' "$OUT")
    run "$PP" report --force -o page.html "$file"
    page=$(plain <page.html)
    check "$file: the page says the same to do" grep -qF -- "${do%%[.:;(]*}" <<<"$page"
    change=${gain%%: *}
    case $gain in *samples/s*) ;; *) continue ;; esac # an advice without a number
    [[ $gain != uncertain* ]] || continue
    named=$((named + 1))
    rate=$(grep -oE '[0-9.,]+ samples/s' <<<"$gain" | head -n 1) amount=$(sed -E 's/.*samples\/s[^,]*, //; s/ \(.*//' <<<"$gain")
    check "$file: so does its gain: $gain" grep -qF -- "$gain" <<<"$page"
    # A quick look has no interval, whose end decides between "+81 %" and "1.8 times".
    said=[+]?${amount#+}
    [[ $amount != 1.*times ]] || said="($said|[+]($(awk -v x="${amount% times}" 'BEGIN { for (i = -5; i <= 5; i++) printf "%s%d", (i > -5 ? "|" : ""), 100 * x - 100 + i }')) %)"
    run "$PP" top --once --size 200x50 "$file"
    grep -q '^INCONCLUSIVE' "$OUT" || like "$file: and the dashboard" "$(head -n 4 "$OUT")" "; ${change//[().]/.}: $said"
    run "$PP" answer "$file"
    first=$(json "$OUT" '$.changes[0].samples_per_s')
    rate_number=${rate% samples/s}
    holds "$file: and the answer, but for the digits: $first" "${rate_number//,/} / $first > 0.94 && ${rate_number//,/} / $first < 1.06"
    if [[ $change == *" reads only "* ]]; then # of the code: no setting that it lists
        run "$PP" whatif "$file" --set "op=$(json "$OUT" '$.changes[0].set.op')"
        cp "$OUT" "$T/whatif"
    fi
    like "$file: and whatif has it" "$(tr -s ' ' <"$T/whatif")" " $rate \(.*${amount//[+.]/.}"
done
check "changes were named: $named" test "$named" -ge 5
codes=$("$PP" explain | awk '{ print $1 }')
check "explain has its codes: $(wc -w <<<"$codes")" test "$(wc -w <<<"$codes")" -ge 100
for code in $codes; do
    COLUMNS=80 run "$PP" explain "$code"
    keep "explain $code" 80 0
done
fits "a refusal" 2 "$PP" ranks train.sqlite
python3 "$JUDGE" "$T/texts" >"$T/judged" 2>"$T/judge"
is "each text is judged" "$(wc -l <"$T/judged") $(cat "$T/judge")" "$kept "
while IFS=$'\t' read -r verdict name; do
    if [ "$verdict" = ok ]; then pass "$name"; else fail "$name" <<<"$verdict"; fi
done <"$T/judged"
run "$PP" ranks train.sqlite
is "which is one line where nobody reads it" "$(wc -l <"$ERR")" 1
done_testing
