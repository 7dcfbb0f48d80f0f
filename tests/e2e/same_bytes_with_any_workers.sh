#!/bin/bash
# The same bytes for any number of workers: --digest hashes every delivered batch in order.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe

"$MAKE_DATASET" "$T/images" --n 80 --size 200x160 --skewed >/dev/null
"$MAKE_DATASET" "$T/shards" --n 80 --size 160x120 --tar 4 >/dev/null
"$MAKE_DATASET" --tokens "$T/tokens.npy" --n 200000

record=(--force -o "$T/run.sqlite")
digest() {
    run timeout 120 "$PP" run "$@" --batch-size 12 --digest --quiet "${record[@]}"
    cat "$OUT" "$ERR" | grep -i digest | grep -oE '[0-9a-f]{8,}' | tail -n 1
}
same() { # NAME ARGUMENTS...
    local name=$1 one
    shift
    one=$(digest "$@" --workers 1)
    like "$name: there is a digest" "$one" '^[0-9a-f]{8,}$'
    is "$name: 2 workers" "$(digest "$@" --workers 2)" "$one"
    is "$name: 7 workers" "$(digest "$@" --workers 7)" "$one"
    is "$name: another prefetch" "$(digest "$@" --workers 3 --prefetch 7)" "$one"
    last=$one
}

same "folder, random, two epochs" "$T/images" --epochs 2 --seed 3 --sampler random
random=$last
same "folder, sequential" "$T/images" --epochs 1 --sampler sequential
same "folder, torch's order, u8" "$T/images" --epochs 1 --sampler torch --dtype u8 --transform rrc:64,hflip,normalize=none
same "shards" "$T/shards/shard-{000000..000003}.tar" --epochs 1 --seed 3
same "tokens" "$T/tokens.npy" --epochs 1 --seed 3
same "synthetic" --synthetic n=200 --epochs 1 --seed 3

other=$(digest "$T/images" --epochs 2 --seed 4 --sampler random --workers 2)
check "another seed gives other bytes" test -n "$other" -a "$other" != "$random"
export PIPEPROBE_SIMD=portable
is "the portable code gives the same bytes" "$(digest "$T/images" --epochs 2 --seed 3 --sampler random --workers 2)" "$random"
unset PIPEPROBE_SIMD
record=(--no-record)
is "without recording the same bytes" "$(digest "$T/images" --epochs 2 --seed 3 --sampler random --workers 2)" "$random"
done_testing
