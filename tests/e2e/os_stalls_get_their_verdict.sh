#!/bin/bash
# alone
# Stalls of the CPUs that the operating system makes: a quota, a neighbour from the middle on, competing processes (of storage:
# slow_disks_get_their_verdict.sh). Nothing is injected, so the verdict can come from effects alone; it must be the one that the same cause gets from the fault layer.
. "$(dirname "$0")/../lib.sh"
. tests/os_causes.sh
need_pipeprobe
cleanup() {
    stop_spinning
    drop_group
    rm -rf "$T"
}

# 224 x 224 crops of 1600 x 1200 pixels: 10 ms of CPU each and more.
"$MAKE_DATASET" "$T/large" --n 48 --size 1600x1200 >/dev/null
cat "$T/large"/*/* >/dev/null

reason=$(why_no_quota)
if [ -z "$reason" ]; then
    quota_group 20
    diagnose in_group "$T/large" --workers 2 --batch-size 2 --step-ms 5 --duration 5
    drop_group
    is "a CPU quota: transform" "$l1/$l2" transform/cgroup-throttled
else
    skip "a CPU quota" "$reason"
fi

# A neighbour that begins in mid-run can be told from one that was there all the time only where the CPUs were idle before.
used() { awk '/^cpu / { print $2 + $3 + $4; exit }' /proc/stat; }
before=$(used) && sleep 1
others=$(awk "BEGIN { print ($(used) - $before) / $(getconf CLK_TCK) / $(nproc) }")
if awk "BEGIN { exit !($others < 0.2) }"; then
    (sleep 5 && exec timeout 8 bash -c 'for i in $(seq $((2 * $(nproc)))); do while :; do :; done & done; trap "kill 0" TERM; wait') &
    spinners=$!
    diagnose "$T/large" --workers "$(nproc)" --batch-size 1 --step-ms 2 --duration 11
    wait "$spinners" 2>/dev/null
    spinners=
    is "a neighbour from the middle on: transform" "$l1/$l2" transform/cpu-contended
    like "and from when on" "$(json "$OUT" '$.verdict.sentence')" 'became short during the run.* from [0-9.]+ % of the run on'
    holds "changes are predicted from the rate since then" "$(json "$OUT" '$.verdict.late_samples_per_s') < $(json "$OUT" '$.samples_per_s')"
    holds "and so is each gain" "($(json "$OUT" '$.verdict.fixes[0].samples_per_s') / $(json "$OUT" '$.verdict.late_samples_per_s') - 1 - $(json "$OUT" '$.verdict.fixes[0].gain')) ^ 2 < 1e-6"
else
    skip "a neighbour that begins in mid-run" "others use $others of the CPUs already"
fi

spin $((2 * $(nproc)))
diagnose "$T/large" --workers "$(nproc)" --batch-size 1 --step-ms 2 --duration 6
stop_spinning
is "competing processes: transform" "$l1/$l2" transform/cpu-contended
done_testing
