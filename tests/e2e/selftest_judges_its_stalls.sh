#!/bin/bash
# pipeprobe selftest: each stall that it makes gets its class, a verdict that is not the expected one fails it, and what cannot be run is said. Only stalls that
# sleep are judged here: they stall a pipeline as much under background load.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe

run timeout 120 "$PP" selftest --only slow-reads,failing-reads,slow-link --keep "$T/kept" --json
cp "$OUT" "$T/json"
is "all right: exit code" "$rc" 0
check "the document is JSON" json_valid "$T/json"
is "its schema" "$(json "$T/json" '$.schema')" pipeprobe.selftest/1
is "three are right" "$(json "$T/json" '$.right') $(json "$T/json" '$.wrong') $(json "$T/json" '$.not_run')" "3 0 0"
is "what was expected" "$(json "$T/json" '$.stalls[0].expected.l1')/$(json "$T/json" '$.stalls[0].expected.l2')" storage/latency
is "what was found" "$(json "$T/json" '$.stalls[0].found.l1')" storage
holds "and how much it stalled" "$(json "$T/json" '$.stalls[0].data_wait_share') > 0.3"
is "the recordings are kept, and nothing else" "$(ls "$T/kept" | tr '\n' ' ')" "failing-reads.sqlite slow-link.sqlite slow-reads.sqlite "
run "$PP" report "$(json "$T/json" '$.stalls[0].recording')"
like "a kept one says the same to report" "$(cat "$OUT")" "STORAGE-BOUND"

# In lines. Batches that are cached never wait for a read, so the verdict is another, and that fails.
run timeout 60 "$PP" selftest --only sync-every-step
like "a line says both" "$(cat "$OUT")" "^right +sync-every-step +expected sync/implicit-sync +found sync/implicit-sync"
like "and they are counted" "$(cat "$OUT")" "^1 right, 0 wrong, 0 not run"

# A machine whose CPUs are full: what fills them is said first, a stall that sleeps is judged, and one that needs CPUs is not called wrong.
burners=()
for _ in $(seq $(($(nproc) * 2))); do
    bash -c 'while :; do :; done' fills_the_cpus &
    burners+=($!)
done
run timeout 100 "$PP" selftest --only slow-reads,one-worker --seconds 3
kill "${burners[@]}"
wait "${burners[@]}" 2>/dev/null
is "a busy machine: exit code" "$rc" 0
like "how busy, and by what, is said first" "$(head -1 "$OUT")" "^This machine is busy: other processes use [0-9.]+ % of its CPUs \(bash \(.*\), [0-9.]+ % of the CPUs"
like "the stall that sleeps is judged" "$(cat "$OUT")" "^right +slow-reads"
like "the one that needs CPUs is right or not judged" "$(cat "$OUT")" "^(right|busy|--) +one-worker"
is "nothing is called wrong" "$(grep WRONG "$OUT")" ""
run env PIPEPROBE_CACHED_BATCHES=1 timeout 60 "$PP" selftest --only slow-reads --seconds 2
is "a wrong verdict: exit code" "$rc" 1
like "and is told" "$(cat "$OUT")" "^WRONG +slow-reads +expected storage/latency"

# What cannot be made: the run's own words, and no verdict of nothing.
run env PIPEPROBE_TRANSFORM=nothing timeout 60 "$PP" selftest --only slow-link
is "no run could be made: exit code" "$rc" 4
like "why not" "$(cat "$OUT")" "^-- +slow-link .*not run: pipeprobe run ended with 2: transform step"
ls -d "${TMPDIR:-/tmp}"/pipeprobe-selftest-* >"$T/before" 2>/dev/null
run timeout 60 "$PP" selftest --only fed-trainer --seconds 1
is "nothing is left in TMPDIR" "$(ls -d "${TMPDIR:-/tmp}"/pipeprobe-selftest-* 2>/dev/null)" "$(cat "$T/before")"
if command -v taskset >/dev/null && taskset -c 0 true 2>/dev/null; then
    run taskset -c 0 "$PP" selftest --only one-worker --json
    is "a stall that needs a second CPU: exit code on one" "$rc" 4
    like "and why" "$(json "$OUT" '$.stalls[0].reason')" "needs 2 CPUs, and 1 can be used"
    is "neither right nor wrong" "$(json "$OUT" '$.stalls[0].right')" ""
else
    skip "a stall that needs a second CPU" "taskset is not installed"
fi
refuses "a stall that is none" 2 "did you mean slow-link" "$PP" selftest --only slow-lin
refuses "an operand" 2 "makes its own data" "$PP" selftest slow-reads
refuses "a place that cannot be made" 2 "cannot create the directory $OUT/kept for the recordings: Not a directory" "$PP" selftest --only slow-link --keep "$OUT/kept"
# Ctrl-C ends it, and the run that it makes.
timeout -s INT 3 "$PP" selftest --only slow-reads --seconds 30 >"$OUT" 2>"$ERR" &
wait $!
rc=$?
is "Ctrl-C: exit code" "$(sed 's/^124$/130/' <<<"$rc")" 130
like "Ctrl-C: says so" "$(cat "$OUT")" "slow-reads .*not run: interrupted"
done_testing
