#!/bin/bash
# Over all kept recordings: every text fits the width it is given, at 80 and 40 columns, whole; and the first change is the same in all that name it:
# report, dashboard, page, answer, whatif, with the same rate and gain.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
too_wide() { # COLUMNS FILE: lines that are wider, but for what is to be pasted, which is broken behind commas alone
    python3 -c 'import sys; [print(line, end="") for line in open(sys.argv[2], encoding="utf-8") if len(line.rstrip("\n").split(")  # ")[0]) > int(sys.argv[1])]' "$@"
}
fits() { # NAME COMMAND...: at both widths, and with all the words that it has in a wide one
    local name=$1 columns
    shift
    for columns in 80 40; do
        COLUMNS=$columns run "$@"
        cat "$OUT" "$ERR" >"$T/said"
        is "$name fits $columns columns" "$(too_wide $columns "$T/said" | head -3)" ""
    done
}
plain() { sed 's/<[^>]*>//g; s/&lt;/</g; s/&gt;/>/g; s/&#39;/'"'"'/g; s/&quot;/"/g; s/&amp;/\&/g'; }

cp tests/recordings/train.sqlite "$T"
for packed in samples/stallbench/*.sqlite.gz; do gzip -dc "$packed" >"$T/$(basename "$packed" .gz)"; done
cd "$T" || exit 1
named=0
for file in *.sqlite; do
    fits "report $file" "$PP" report "$file"
    fits "report --full $file" "$PP" report --full "$file"
    fits "whatif $file" "$PP" whatif "$file"
    for size in 80x24 40x20; do
        run "$PP" top --once --size $size "$file"
        is "top $size $file fits" "$(too_wide ${size%x*} "$OUT" | head -3)" ""
    done

    COLUMNS=400 run "$PP" report "$file"
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
    run "$PP" top --once --size 200x50 "$file"
    grep -q '^INCONCLUSIVE' "$OUT" || like "$file: and the dashboard" "$(head -n 4 "$OUT")" "; ${change//[().]/.}: [+]?${amount#+}"
    run "$PP" answer "$file"
    first=$(json "$OUT" '$.changes[0].samples_per_s')
    rate_number=${rate% samples/s}
    holds "$file: and the answer, but for the digits: $first" "${rate_number//,/} / $first > 0.94 && ${rate_number//,/} / $first < 1.06"
    run "$PP" whatif "$file"
    like "$file: and whatif has it" "$(tr -s ' ' <"$OUT")" " $rate \(.*${amount//[+.]/.}"
done
check "changes were named: $named" test "$named" -ge 5
for code in $("$PP" explain | awk '{ print $1 }'); do
    COLUMNS=80 run "$PP" explain "$code"
    [ -z "$(too_wide 80 "$OUT")$(grep '[{}]' "$OUT" | grep -v '`')" ] || fail "explain $code" <"$OUT"
done
pass "explain fits, and shows no braces of its templates"
fits "a refusal" "$PP" ranks train.sqlite
run "$PP" ranks train.sqlite
is "which is one line where nobody reads it" "$(wc -l <"$ERR")" 1
done_testing
