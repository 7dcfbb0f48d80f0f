#!/bin/bash
# quick
# pipeprobe ranks --audit: each sample once per epoch over all ranks and before and after a resume; what was done wrong is named.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe

# A run this short has no verdict, which is exit code 3.
record() { "$PP" run --synthetic n=203,size=16x16 --transform rrc:8 --batch-size 8 -w 2 --quiet "$@" >/dev/null 2>"$T/record.err" || [ $? -eq 3 ]; }
audit() { run "$PP" ranks "$@" --audit --json; }

check "two ranks are recorded" record --ranks 2 --epochs 3 -o "$T/a.sqlite"
audit "$T"/a.rank*.sqlite
is "each sample once per epoch" "$rc $(json "$OUT" '$.kind') $(json "$OUT" '$.whole_epochs')" "0 clean 3"
is "padding is counted, and no fault" "$(json "$OUT" '$.causes[0].name') $(json "$OUT" '$.causes[0].samples')" "padding 3"

mkdir "$T/alike"
for rank in 0 1; do
    record --rank 0 --world-size 1 --epochs 2 -o "$T/alike/$rank.sqlite"
    sqlite3 "$T/alike/$rank.sqlite" "UPDATE meta SET value = CASE key WHEN 'rank' THEN $rank ELSE 2 END WHERE key IN ('rank', 'world_size')"
done
audit "$T/alike"
is "a sampler without rank is named" "$rc $(json "$OUT" '$.causes[0].name') $(json "$OUT" '$.causes[0].samples')" "1 ranks-alike 406"

check "a run is stopped within an epoch" record --steps 20 --save-state "$T/state" -o "$T/c0.sqlite"
check "and resumed" record --resume "$T/state" --epochs 2 -o "$T/c1.sqlite"
audit "$T/c0.sqlite" "$T/c1.sqlite"
is "before and after a resume each sample once" "$rc $(json "$OUT" '$.kind') $(json "$OUT" '$.whole_epochs')" "0 clean 2"
audit "$T/c0.sqlite"
is "an epoch that was not finished is not judged" "$rc $(json "$OUT" '$.kind')" "3 inconclusive"
run "$PP" ranks "$T/c0.sqlite" --audit
like "the text says so" "$(cat "$OUT")" "not whole"

refuses "two recordings of a rank at the same time" 2 "both of rank 0" "$PP" ranks "$T/c0.sqlite" "$T/c0.sqlite" --audit
run "$PP" merge "$T"/a.rank*.sqlite -o "$T/a.digest"
refuses "a digest" 2 "holds no samples" "$PP" ranks "$T/a.digest" --audit
done_testing
