#!/bin/bash
# asleep
# The sync scenarios on the fake driver, whose link, calls and launches are as slow as the scenario says: each verdict is decided by the device's own
# evidence, and is the scenario's; a fed trainer is none of them; without CUPTI the report says NOT MEASURED.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
FAKES=$PWD/$BUILD/tests/fake
need_built helpers "$FAKES/libcuda.so.1"

fake_run() { # WORDS ARGUMENTS...
    local words=$1
    shift
    run timeout 60 env LD_LIBRARY_PATH="$FAKES" PP_FAKE_CUDA="$words" "$PP" run --synthetic n=2000,size=64x64 --transform rrc:32,normalize=imagenet --workers 2 --batch-size 8 --duration 2.5 --quiet \
        --json --force -o "$T/run.sqlite" "$@"
}
verdict() { echo "$(json "$OUT" '$.verdict.l1')/$(json "$OUT" '$.verdict.l2')"; }
largest_idle() { sqlite3 :memory: "SELECT key FROM json_each(CAST(readfile('$OUT') AS TEXT), '\$.gpu.idle') ORDER BY value DESC LIMIT 1"; }

# A batch of 8 is 98 kB.
while IFS='|' read -r name words arguments idle; do
    # shellcheck disable=SC2086
    fake_run "$words" $arguments
    is "$name: verdict" "$(verdict)" "sync/$name"
    is "$name: input-bound" "$(json "$OUT" '$.verdict.l0')" input-bound
    is "$name: where the GPU's idle time went" "$(largest_idle)" "${idle}_share"
    is "$name: measured" "$(json "$OUT" '$.gpu.not_measured')" ""
    holds "$name: busy and idle add up" "$(sqlite3 :memory: "SELECT abs(1 - json_extract(j, '\$.gpu.busy_share') - (SELECT sum(value) FROM json_each(j, '\$.gpu.idle'))) FROM (SELECT CAST(readfile('$OUT') AS TEXT) AS j)") < 1e-6"
done <<'ROWS'
pageable|pageable=0.01|--step-ms 2 --pageable|copy_not_overlapped
serial-copy|gbps=0.01|--step-ms 10 --h2d sync|copy_not_overlapped
serial-copy|gbps=0.02|--step-ms 5 --copy-buffers 1|copy_not_overlapped
h2d-bandwidth|gbps=0.003|--step-ms 2|copy_not_overlapped
implicit-sync|sync-us=10000|--step-ms 5 --sync-every-step|synchronisation
small-batch|launch-us=5000|--step-ms 2 --batch-size 1|launch_gap
ROWS

fake_run "" --step-ms 20
check "a fed trainer is not sync" test "$(json "$OUT" '$.verdict.l1')" != sync
holds "and its GPU is busy" "$(json "$OUT" '$.gpu.busy_share') > 0.5"

# The host's spans alone would say "pageable" here: not without the device's word.
PP_FAKE_CUPTI=enable=39 fake_run "pageable=0.01" --step-ms 2 --pageable
is "CUPTI held by another: no cause is guessed" "$(json "$OUT" '$.verdict.l0') $(verdict)" "input-bound /"
like "but said" "$(json "$OUT" '$.verdict.sentence')" "NOT MEASURED: not recorded: another profiler owns CUPTI"
is "and no number is made up" "$(json "$OUT" '$.gpu.busy_share')$(json "$OUT" '$.gpu.idle.copy_not_overlapped_share')" ""
run "$PP" report "$T/run.sqlite" --full
like "in the text too" "$(tr -s ' \n' ' ' <"$OUT")" "GPU \(shares of the steady state\) NOT MEASURED: not recorded: another profiler owns CUPTI"
done_testing
