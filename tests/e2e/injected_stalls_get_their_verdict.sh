#!/bin/bash
# asleep
# A pipeline slowed on purpose must get the matching verdict: the injected cause is the truth.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe

"$MAKE_DATASET" "$T/images" --n 160 >/dev/null

diagnose() { # ARGUMENTS...
    run timeout 60 "$PP" run "$@" --json --quiet --force -o "$T/run.sqlite"
    cp "$OUT" "$T/run.json"
    l0=$(json "$T/run.json" '$.verdict.l0')
    l1=$(json "$T/run.json" '$.verdict.l1')
    share=$(json "$T/run.json" '$.data_wait_share')
    sentence=$(json "$T/run.json" '$.verdict.sentence')
    echo "# $l0 ${l1:-} data wait ${share:-unknown}: $sentence"
}

diagnose --synthetic n=4000,read=10ms --workers 2 --batch-size 16 --step-ms 5 --duration 6
is "slow storage: input-bound" "$l0" input-bound
is "slow storage: storage" "$l1" storage
like "slow storage: the sentence says so" "$sentence" "storage|read"
holds "slow storage: most of the time is waited" "${share:-0} > 0.5"

diagnose "$T/images" --workers 1 --batch-size 32 --step-ms 10 --duration 6
is "heavy decode: input-bound" "$l0" input-bound
like "heavy decode: transform or loader" "$l1" "^(transform|loader)$"
like "heavy decode: the stage is named" "$sentence" "decode|transform|worker"

diagnose "$T/images" --workers 2 --batch-size 4 --step-ms 100 --duration 6
is "slow trainer: not input-bound" "$l0" not-input-bound
holds "slow trainer: hardly a wait" "${share:-1} < 0.05"

diagnose "$T/images" --workers 2 --batch-size 4 --step-ms 5 --steps 2
is "two steps are too few" "$l0" inconclusive
check "and the reason is given" test -n "$(json "$T/run.json" '$.verdict.reason')$sentence"
done_testing
