#!/bin/bash
# Stopped and resumed, a run delivers each sample of the plan once: none repeated, none left out, whatever the number of workers.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe

N=70
"$MAKE_DATASET" "$T/images" --n $N --size 64x48 --classes 7 >/dev/null
common="--batch-size 4 --seed 11 --transform rrc:16,hflip --quiet --force -o $T/run.sqlite"

for sampler in random torch sequential; do
    "$PP" plan "$T/images" --sampler $sampler --seed 11 2>"$T/plan.err" | cut -f 1 >"$T/plan"
    is "$sampler: the plan has every sample once" "$(sort -n "$T/plan" | uniq | wc -l) of $(wc -l <"$T/plan")" "$N of $N"
    for steps in 1 3 8 16; do
        rm -f "$T/state" "$T/first" "$T/second"
        # shellcheck disable=SC2086
        run timeout 60 "$PP" run "$T/images" --sampler $sampler $common --workers 3 --steps $steps --save-state "$T/state" --list-delivered "$T/first"
        check "$sampler: stopped after $steps steps, state saved" test -s "$T/state"
        # shellcheck disable=SC2086
        run timeout 60 "$PP" run "$T/images" --sampler $sampler $common --workers 2 --epochs 1 --resume "$T/state" --list-delivered "$T/second"
        is "$sampler: $((steps * 4)) before" "$(wc -l <"$T/first")" $((steps * 4))
        check "$sampler: both halves in the plan's order" diff <(cat "$T/first" "$T/second" | cut -f 2) "$T/plan"
    done
done

# shellcheck disable=SC2086
refuses "a state of another seed" 2 "seed" "$PP" run "$T/images" --sampler sequential ${common/--seed 11/--seed 12} --resume "$T/state"
echo '{"epoch": ' >"$T/broken"
# shellcheck disable=SC2086
refuses "a damaged state" 4 "broken" "$PP" run "$T/images" --sampler random $common --resume "$T/broken"
# shellcheck disable=SC2086
refuses "an absent state" 2 "absent" "$PP" run "$T/images" --sampler random $common --resume "$T/absent"

# Where nothing was run, nothing was consumed: the state a run was to go on from is still there.
# shellcheck disable=SC2086
run timeout 60 "$PP" run "$T/images" --sampler random $common --steps 3 --save-state "$T/kept"
cp "$T/kept" "$T/before"
# shellcheck disable=SC2016,SC2086
run bash -c 'ulimit -v 400000; exec timeout 60 "$@"' - "$PP" run "$T/images" --sampler random $common --batch-size 300 --prefetch 4 --transform rrc:224 --resume "$T/kept" --save-state "$T/kept"
check "a run that finds no memory does not begin" test "$rc" -ne 0 -a "$rc" -ne 3
check "and leaves the state as it was" cmp "$T/before" "$T/kept"

# Streams: the rest comes in the order the whole would have had, over the epoch's end too; what else an order depends on is held against the state.
"$MAKE_DATASET" "$T/shards" --n $N --size 64x48 --tar 5 >/dev/null
stream="$T/shards --stream --shuffle-buffer 20 $common"
# shellcheck disable=SC2086
run timeout 60 "$PP" run $stream --workers 1 --epochs 2 --list-delivered "$T/whole"
for steps in 1 5 17 19; do
    # shellcheck disable=SC2086
    run timeout 60 "$PP" run $stream --workers 3 --steps $steps --save-state "$T/state" --list-delivered "$T/first"
    # shellcheck disable=SC2086
    run timeout 60 "$PP" run $stream --workers 2 --epochs 2 --resume "$T/state" --list-delivered "$T/second"
    check "stream: both parts around step $steps are the whole" diff <(cat "$T/first" "$T/second" | cut -f 2) <(cut -f 2 "$T/whole")
done
# shellcheck disable=SC2086
refuses "a stream's state with another buffer" 2 "shuffle-buffer 20" "$PP" run $stream --shuffle-buffer 30 --resume "$T/state"
# shellcheck disable=SC2086
refuses "with the shards in order" 2 "that run had --shuffle-shards" "$PP" run $stream --no-shuffle-shards --resume "$T/state"
rm "$T/shards/shard-000004.tar"*
# shellcheck disable=SC2086
refuses "with other shards" 2 "5 shards, and this one has 4" "$PP" run $stream --resume "$T/state"

# Ranks share the epoch: disjoint, and together everything.
for rank in 0 1 2; do
    "$PP" plan "$T/images" --sampler random --seed 11 --rank $rank --world-size 3 --drop-last 2>/dev/null | cut -f 1
done >"$T/ranks"
is "three ranks are disjoint" "$(sort -n "$T/ranks" | uniq -d | wc -l)" 0
is "and cover the epoch up to the cut" "$(wc -l <"$T/ranks")" $((N / 3 * 3))
check "the next epoch has another order" bash -c "! diff -q <('$PP' plan '$T/images' --sampler random --seed 11 --epoch 0) <('$PP' plan '$T/images' --sampler random --seed 11 --epoch 1) >/dev/null"
done_testing
