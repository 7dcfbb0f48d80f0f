#!/bin/bash
# quick
# pipeprobe plan: the order of one (epoch, rank), in lines and in JSON, to readers that stay and to readers that leave.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe

run "$PP" plan --n 1000 --seed 5
is "every index once" "$(sort -n "$OUT" | uniq | wc -l) $(sort -n "$OUT" | tail -1)" "1000 999"
cp "$OUT" "$T/whole"
run "$PP" plan --n 1000 --seed 5 --start 997
check "--start gives the tail" diff <(tail -n 3 "$T/whole") "$OUT"
run "$PP" plan --n 1000 --seed 5 --start 10 --limit 7
check "--limit cuts it" diff <(sed -n 11,17p "$T/whole") "$OUT"
run "$PP" plan --n 1000 --seed 5 --start 1000
is "the end of the epoch is an empty plan" "$rc $(wc -c <"$OUT")" "0 0"
run "$PP" plan --n 1000 --seed 5 --epoch 1
check "another epoch, another order" bash -c "! cmp -s '$OUT' '$T/whole'"
for rank in 0 1 2 3; do "$PP" plan --n 1002 --rank $rank --world-size 4; done >"$T/ranks"
is "four ranks cover the epoch, two samples twice" "$(sort -n "$T/ranks" | uniq | wc -l) of $(wc -l <"$T/ranks")" "1002 of 1004"
for rank in 0 1 2 3; do "$PP" plan --n 1002 --rank $rank --world-size 4 --drop-last; done >"$T/ranks"
is "with --drop-last none twice" "$(sort -n "$T/ranks" | uniq | wc -l) of $(wc -l <"$T/ranks")" "1000 of 1000"

run "$PP" plan --n 1000 --seed 5 --json
is "JSON has the schema" "$(json "$OUT" '$.schema')" pipeprobe.plan/1
is "JSON has the same order" "$(sqlite3 :memory: "SELECT json_extract(value, '$.index') FROM json_each(CAST(readfile('$OUT') AS TEXT), '$.samples')" | cmp - "$T/whole" && echo same)" same
run "$PP" plan --synthetic n=5,size=8x8 --sampler sequential
is "a dataset's samples come with their paths" "$(cut -f 1 "$OUT" | tr '\n' ' ')$(grep -c "$(printf '\t.')" "$OUT")" "0 1 2 3 4 5"
printf '1 0\n2 # twice as often\n0' >"$T/weights"
run "$PP" plan --n 4 --sampler weighted --weights "$T/weights"
is "weights of zero are never drawn" "$rc $(grep -c '[13]' "$OUT")" "0 0"

"$MAKE_DATASET" "$T/images" --n 60 --size 8x8 --classes 3 >/dev/null
"$PP" plan "$T/images" --sampler stratified >"$T/stratified"
is "stratified: every index once" "$(cut -f 1 "$T/stratified" | sort -n | uniq | wc -l)" 60
# A class of n_c among 60 has less than 2 more or fewer than 12 n_c / 60 in each batch of 12.
is "stratified: classes in proportion in every batch" "$(cut -f 2 "$T/stratified" | awk -F / '{ c = $(NF - 1); all[c]++; in_batch[int((NR - 1) / 12) " " c]++ }
    END { for (b = 0; b < 5; b++) for (c in all) { d = in_batch[b " " c] - all[c] / 5; if (d >= 2 || d <= -2) bad++ } print bad + 0 }')" 0
refuses "stratified without classes" 2 "needs --classes" "$PP" plan --n 5 --sampler stratified
refuses "classes for another sampler" 2 "goes with" "$PP" plan --n 5 --classes "$T/weights"

"$MAKE_DATASET" "$T/shards" --n 400 --tar 8 --size 8x8 --classes 4 >/dev/null
run "$PP" plan "$T/shards" --stream --shuffle-buffer 60 --batch-size 16 --json
is "a stream's shuffle is judged before it is read" "$rc $(json "$OUT" '$.schema') $(json "$OUT" '$.samples') $(json "$OUT" '$.shards') $(json "$OUT" '$.most_places')" \
    "0 pipeprobe.shuffle/1 400 8 60"
holds "a small buffer keeps shards together" "$(json "$OUT" '$.own_shard_samples') > 2 * $(json "$OUT" '$.own_shard_samples_full')"
run "$PP" plan "$T/shards" --stream --shuffle-buffer 400
like "a buffer of all samples is a full shuffle" "$(cat "$OUT")" "The buffer is enough"
refuses "what is no stream" 2 "tar shards" "$PP" plan --n 5 --stream
refuses "too few shards for the ranks" 2 "too few" "$PP" plan "$T/shards" --stream --world-size 9

run bash -c "set -o pipefail; '$PP' plan --n 1G | head -n 2"
is "a reader that leaves ends it quietly" "$rc $(wc -l <"$OUT") $(wc -c <"$ERR")" "0 2 0"
run timeout 20 "$PP" plan --n 1T --start 999999999999
is "a trillion samples need no time" "$rc $(wc -l <"$OUT")" "0 1"
run bash -c "ulimit -v 200000; '$PP' plan --n 1T --limit 100000 --rank 3 --world-size 1000"
is "and no memory" "$rc $(wc -l <"$OUT")" "0 100000"

refuses "a full disk" 4 "no space" bash -c "'$PP' plan --n 100000 >/dev/full"
refuses "nothing to plan for" 2 "none is given" "$PP" plan
refuses "two things to plan for" 2 "not two" "$PP" plan somewhere --n 5
refuses "two datasets" 2 "one dataset at a time: remove" "$PP" plan here there
refuses "a start beyond the epoch" 2 "beyond the 5 samples" "$PP" plan --n 5 --start 6
refuses "a rank outside the world" 2 "from 0 to 3" "$PP" plan --n 5 --rank 4 --world-size 4
refuses "fewer samples than ranks, last dropped" 2 "leaves none" "$PP" plan --n 3 --world-size 8 --drop-last
refuses "torch beyond where its versions agree" 4 "PyTorch's version" "$PP" plan --n 300M --sampler torch
refuses "torch without the memory for its order" 4 "no memory" bash -c "ulimit -v 400000; '$PP' plan --n 200M --sampler torch"
refuses "weighted without weights" 2 "go together" "$PP" plan --n 5 --sampler weighted
refuses "too few weights" 2 "holds 4 weights" "$PP" plan --n 5 --sampler weighted --weights "$T/weights"
refuses "no such weights" 2 "$T/absent" "$PP" plan --n 5 --sampler weighted --weights "$T/absent"
done_testing
