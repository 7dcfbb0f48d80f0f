#!/bin/bash
# A rank that takes leased shards much faster than another one waits for the shards that the other one holds, at the end of each epoch: that is its verdict, with
# who held them. A rank without another one has none of it.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe

"$MAKE_DATASET" "$T/d" --n 240 --tar 8 --size 64x48 --threads 1 >/dev/null || fail "make_dataset" <<<"see above"
DATA="$T/d/shard-{000000..000007}.tar"

rank() { # NAME LEASES STEP [OPTIONS]: in the background
    local name=$1 dir=$2 step=$3
    shift 3
    "$PP" run "$DATA" --stream --lease "$dir" --shuffle-buffer 10 --batch-size 10 --workers 1 --transform rrc:32 --device host -q --warmup 3 \
        --step "sleep:$step" --epochs 5 -o "$T/$name.sqlite" "$@" >"$T/$name.out" 2>"$T/$name.err" </dev/null &
}

# The slow rank has a shard before the fast one begins, and in every epoch one at least: its steps on it are what the fast one waits for.
rank slow "$T/leases" 250ms --rank 0 --world-size 2
slow=$!
for _ in $(seq 1200); do
    [ "$(ls "$T"/leases/epoch-*/ 2>/dev/null | grep -c '^[0-9]*\.[0-9]*$')" -ge 1 ] && break
    kill -0 $slow 2>/dev/null || break
    sleep 0.05
done
rank fast "$T/leases" 5ms --rank 1 --world-size 2
fast=$!
wait $slow; codes=$?
wait $fast; codes="$codes $?"
like "both ranks end well" "$codes" '^[03] [03]$'
run "$PP" report "$T/fast.sqlite" --json
is "the fast rank's verdict" "$(json "$OUT" '$.verdict.l1') $(json "$OUT" '$.verdict.l2')" "loader lease-wait"
like "what it waits for, and who held it" "$(json "$OUT" '$.verdict.cause')" "other ranks hold.*$(uname -n | cut -c1-8)"
is "the slow rank has another one" "$("$PP" report "$T/slow.sqlite" --json | grep -c '"l2": *"lease-wait"')" 0

rank alone "$T/own" 5ms
wait $!
is "a rank by itself waits for none" "$("$PP" report "$T/alone.sqlite" --json | grep -c 'lease-wait"')" 0
done_testing
