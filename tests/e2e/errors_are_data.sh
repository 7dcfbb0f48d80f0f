#!/bin/bash
# quick
# Damaged files are counted, listed with path and reason, skipped or replaced by policy; the run goes on.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe

"$MAKE_DATASET" "$T/images" --n 64 --size 160x120 --classes 4 --odd >/dev/null
FILES=$(find "$T/images" -name '*.jpg' | wc -l)
# What no decoder can make a picture of. odd_bitflip may pass (libjpeg mends some damage), odd_unreadable does as root.
BROKEN="odd_dangling odd_empty odd_text odd_truncated"
HEALTHY="odd_png odd_1x1"

odd_run() { run timeout 60 "$PP" run "$T/images" --epochs 1 --batch-size 8 --workers 2 --sampler sequential --force -o "$T/run.sqlite" "$@"; }
delivered() { wc -l <"$T/delivered"; }

for policy in skip substitute; do
    odd_run --on-error $policy --json --list-delivered "$T/delivered"
    check "$policy: the run goes on" test "$rc" -eq 0 -o "$rc" -eq 3
    errors=$(sql "$T/run.sqlite" "SELECT path || '|' || kind || '|' || action || '|' || reason FROM error")
    for odd in $BROKEN; do
        like "$policy: $odd is listed with its reason" "$errors" "$odd\.jpg\|[a-z-]+\|${policy}[a-z]*\|.{10,}"
    done
    for odd in $HEALTHY; do
        check "$policy: $odd is no error" bash -c "! grep -q $odd <<<'$errors'"
    done
    check "$policy: only odd files are errors" bash -c "! grep -q 'img_' <<<'$errors'"
    is "$policy: an error per broken file" "$(sql "$T/run.sqlite" 'SELECT count(DISTINCT path) FROM error')" "$(sql "$T/run.sqlite" 'SELECT count(*) FROM error')"
    check "$policy: the JSON has the errors" test "$(sql :memory: "SELECT count(*) FROM json_each(CAST(readfile('$OUT') AS TEXT), '\$.errors')")" -gt 0
    check "$policy: errors are counted by worker" test "$(sql :memory: "SELECT sum(json_extract(value, '\$.errors')) FROM json_each(CAST(readfile('$OUT') AS TEXT), '\$.workers')")" -ge 4
    n_errors=$(sql "$T/run.sqlite" 'SELECT count(*) FROM error')
    if [ $policy = skip ]; then is "skip: delivered = files - errors" "$(delivered)" "$((FILES - n_errors))"
    else is "substitute: every place is filled" "$(delivered)" "$FILES"; fi
done

odd_run --on-error skip
like "the summary for people has them" "$(cat "$OUT")" "odd_|corrupt|empty"

odd_run --on-error skip --epochs 3
files=$(sql "$T/run.sqlite" "SELECT count(DISTINCT path) FROM error WHERE action = 'skipped'")
like "the report tells visits from files" "$(cat "$OUT")" "^Errors: +$((3 * files)) in $files files"
is "and so does v_error_file" "$(sql "$T/run.sqlite" "SELECT count(*), max(visits) FROM v_error_file WHERE action = 'skipped'")" "$files|3"
is "a reason does not repeat the path that it stands beside" "$(sql "$T/run.sqlite" "SELECT reason FROM v_error_file WHERE path LIKE '%odd_empty%'")" "has 0 bytes"

odd_run --on-error fail
is "fail: exit code" "$rc" 4
like "fail: the sentence names the file" "$(cat "$ERR")" "odd_[a-z]+\.jpg"
is "fail: the file is whole all the same" "$(sql "$T/run.sqlite" 'PRAGMA integrity_check')" ok

# A data set of nothing but damage is not a measurement.
mkdir -p "$T/all/a" && for i in 1 2 3; do echo "no picture" >"$T/all/a/$i.jpg"; done
run timeout 60 "$PP" run "$T/all" --epochs 1 --batch-size 2 --force -o "$T/all.sqlite"
check "nothing but damage ends" test "$rc" -eq 3 -o "$rc" -eq 4
like "and says why" "$(cat "$OUT" "$ERR")" "error|no sample|could not|inconclusive"
like "with the most frequent reason and an example" "$(cat "$ERR")" "none of the last 3 samples could be used; most often they are unsupported \(3\), for example .*all/a/[123]\.jpg: (neither JPEG nor PNG|none of JPEG, PNG, WebP)"

# Descriptors that run out are no property of a sample.
run timeout 60 bash -c 'ulimit -n 19; exec "$0" "$@"' "$PP" run "$T/images" --epochs 1 --batch-size 8 --workers 8 --force -o "$T/few.sqlite"
is "too few descriptors: exit code" "$rc" 4
like "too few descriptors: the limit is named" "$(cat "$ERR")" "too many open files: the limit is 19 \(ulimit -n\); raise it, or use fewer workers"
is "too few descriptors: no sample is called damaged for it" "$([ -e "$T/few.sqlite" ] && sql "$T/few.sqlite" "SELECT count(*) FROM error WHERE action = 'skipped' AND reason LIKE '%open files%'" || echo 0)" 0
done_testing
