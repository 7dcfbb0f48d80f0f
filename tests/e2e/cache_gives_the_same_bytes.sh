#!/bin/bash
# run --cache: what was read of a server is had again, by later epochs, runs and other processes; the batches are those of local files whatever becomes of the
# server's objects, of the cache's files and of the process; a cache that cannot be used is a sentence.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../remote.sh"
need_pipeprobe
need_remote

N=60
"$MAKE_DATASET" "$T/data" --n $N --size 120x90 --tar 3 >/dev/null
mkdir -p "$T/data/public-train"
"$MAKE_DATASET" "$T/data/public-train/images" --n 30 --size 100x80 --classes 3 >/dev/null
serve "$T/data"
URL=http://127.0.0.1:$PORT
C=$T/kept

local_shards=("$T/data/shard-{000000..000002}.tar" --epochs 2 --workers 2)
web=("$URL/shard-{000000..000002}.tar" --epochs 2 --workers 2)
cache=(--cache "$C" --cache-bytes 32MiB)
LOCAL=$(digest "${local_shards[@]}")
STREAM=$(digest "${local_shards[@]}" --stream)
like "there are digests" "$LOCAL $STREAM" '^[0-9a-f]{8,} [0-9a-f]{8,}$'
counter() { sql "$T/run.sqlite" "SELECT CAST(max(value) AS INTEGER) FROM counter WHERE name = 'cache_$1'"; }
report() { run timeout 60 "$PP" report "$T/run.sqlite" --json; }
finding() { sql :memory: "SELECT json_extract(value, '\$.$2') FROM json_each(CAST(readfile('$OUT') AS TEXT), '\$.findings') WHERE json_extract(value, '\$.kind') = '$1'"; }

# ---- epochs and runs ----

digest "${web[@]}" >/dev/null # the indexes of the shards are made
set_faults ''
is "cold: the bytes of local files" "$(digest "${web[@]}" "${cache[@]}")" "$LOCAL"
is "each sample is fetched once" "$(counted reads)" $N
is "the second epoch came from the cache" "$(counter hits_total)" $N
is "and is so counted" "$(counter requests_total) $(counter cold_total) $(counter unkept_total)" "$((2 * N)) $N 0"
set_faults ''
is "warm: the bytes of local files" "$(digest "${web[@]}" "${cache[@]}")" "$LOCAL"
is "no byte of a sample is asked of the server" "$(counted reads)" 0
is "by other options too" "$(digest "${web[@]}" "${cache[@]}" --inflight 4 --workers 3) $(counted reads)" "$LOCAL 0"
report
like "the report has the three tiers" "$(finding cache-hits sentence)" "^100 % of .* reads .* page cache, .* the cache's disk, and 0 % the storage; attainable 100 %"
is "nothing was wrong" "$(finding cache-trouble state)" not-found
is "streamed, cold" "$(digest "${web[@]}" --stream "${cache[@]}")" "$STREAM"
set_faults ''
is "streamed, warm" "$(digest "${web[@]}" --stream "${cache[@]}") $(counted reads)" "$STREAM 0"
is "a local path" "$(digest "${local_shards[@]}" --cache "$T/local")" "$LOCAL"
is "a local path, warm" "$(digest "${local_shards[@]}" --cache "$T/local") $(counter hits_total)" "$LOCAL $((2 * N))"

set_faults 'busy=3&cut=4&wrong=5'
is "faults while it is filled: the bytes of local files" "$(digest "${web[@]}" --cache "$T/faulty")" "$LOCAL"
set_faults ''
is "and none of them is kept" "$(digest "${web[@]}" --cache "$T/faulty") $(counted reads)" "$LOCAL 0"

# ---- ranks of a machine, and two runs at once ----

ranks() { run timeout 60 "$PP" run "${web[@]}" --ranks 2 --seed "$1" --batch-size 8 --step none --force -o "$T/ranks.sqlite" --cache "$T/shared"; }
set_faults ''
ranks 1
check "ranks fill one cache" test "$(counted reads)" -ge $N -a "$(counted reads)" -le $((2 * N))
set_faults ''
ranks 2 # each rank has other samples now
is "and read all of it" "$(counted reads)" 0
for i in 1 2; do
    timeout 60 "$PP" run "${web[@]}" --digest --batch-size 8 --transform rrc:32,hflip --step none --no-record --cache "$T/both" >"$T/both.$i" 2>"$T/both.$i.err" &
    both[i]=$!
done
wait "${both[@]}"
is "two runs at once on one cache" "$(grep -ohE '[0-9a-f]{16}' "$T/both.1" "$T/both.2" | sort -u)" "$LOCAL"

# ---- kills ----

set_faults 'latency-ms=10'
for pause in 0.3 0.5 0.7; do
    "$PP" run "${web[@]}" --workers 2 --no-record --cache "$T/killed" >/dev/null 2>&1 </dev/null &
    victim=$!
    sleep $pause
    kill -KILL $victim 2>/dev/null
    wait $victim 2>/dev/null
done
set_faults ''
is "after kills: the bytes of local files" "$(digest "${web[@]}" --cache "$T/killed") $(counter damaged_total)" "$LOCAL 0"
for segment in "$T/killed"/segment-*; do
    printf 'damage' | dd of="$segment" bs=1 seek=$(($(stat -c %s "$segment") / 2)) conv=notrunc status=none
done
is "after damage: the bytes of local files" "$(digest "${web[@]}" --cache "$T/killed")" "$LOCAL"

# ---- other objects of the same name ----

mkdir -p "$T/other"
"$MAKE_DATASET" "$T/other" --n $N --size 120x90 --tar 3 --seed 77 >/dev/null
OTHER=$(digest "$T/other/shard-{000000..000002}.tar" --epochs 2 --workers 2)
serve "$T/other"
is "another server: its own bytes" "$(digest "http://127.0.0.1:$PORT/shard-{000000..000002}.tar" --epochs 2 "${cache[@]}")" "$OTHER"
PORT=${URL##*:}
cp "$T/other"/shard-*.tar "$T/data"
is "objects that were replaced: the new bytes" "$(digest "${web[@]}" "${cache[@]}")" "$OTHER"
check "and that is counted" test "$OTHER" != "$LOCAL"

IMAGES=$(digest "$T/data/public-train/images" --epochs 2)
serve "$T/data" --s3 ID SECRET
export AWS_ENDPOINT_URL=http://127.0.0.1:$PORT
is "whole objects of a bucket" "$(digest s3://public-train/images --epochs 2 "${cache[@]}")" "$IMAGES"
is "each is fetched once" "$(counted reads) $(counter checks_total)" "30 0"
set_faults ''
is "warm: each is asked once whether it is the same" "$(digest s3://public-train/images --epochs 2 --workers 1 "${cache[@]}") $(counted reads) $(counter checks_total)" "$IMAGES 0 30"
mkdir -p "$T/elsewhere/public-train"
"$MAKE_DATASET" "$T/elsewhere/public-train/images" --n 30 --size 100x80 --classes 3 --seed 9 >/dev/null
ELSEWHERE=$(digest "$T/elsewhere/public-train/images" --epochs 2)
serve "$T/elsewhere" --s3 ID SECRET
is "a bucket of the same name at another endpoint" "$(AWS_ENDPOINT_URL=http://127.0.0.1:$PORT digest s3://public-train/images --epochs 2 "${cache[@]}")" "$ELSEWHERE"
unset AWS_ENDPOINT_URL

# ---- larger than the cache: policies ----

"$MAKE_DATASET" "$T/big" --n 56 --size 320x240 --tar 2 >/dev/null
cyclic() { digest "$T/big/shard-{000000..000001}.tar" --epochs 5 --workers 1 --sampler sequential --cache "$T/small.$1" --cache-bytes 1MiB --cache-policy "$1" >/dev/null; }
cyclic keep
share=$(awk "BEGIN { print 1048576 / $(counter data_bytes) }")
holds "the data is about twice as large as the cache" "$share > 0.3 && $share < 0.6"
holds "keep: cyclic epochs reach the attainable rate" "$(counter hits_total) / (4 * 56) > 0.85 * $share"
check "the limit holds" test "$(cat "$T/small.keep"/segment-* | wc -c)" -le 1048576
cyclic fifo
is "fifo: cyclic epochs hit nothing" "$(counter hits_total)" 0
report
is "which is found" "$(finding cache-thrash state)" found
like "with the policy that does better" "$(finding cache-thrash sentence)" "policy fifo.*attainable, by the policy keep"

# ---- what goes wrong with the directory ----

PORT=${URL##*:}
set_faults 'latency-ms=30'
"$PP" run "${web[@]}" --digest --batch-size 8 --transform rrc:32,hflip --step none --no-record --cache "$T/gone" >"$T/gone.out" 2>"$T/gone.err" </dev/null &
running=$!
for ((i = 0; i < 600; i++)); do
    ! ls "$T/gone"/segment-* >/dev/null 2>&1 || break
    sleep 0.02
done
rm -rf "$T/gone"
wait $running
is "removed while in use: the bytes of local files" "$? $(grep -oE '[0-9a-f]{16}' "$T/gone.out")" "0 $OTHER"
set_faults ''
mkdir "$T/mine"
echo thesis >"$T/mine/thesis.txt"
refuses "a directory with other files" 2 "is no cache of pipeprobe, and not empty" "$PP" run "${web[@]}" --no-record --cache "$T/mine"
mkdir -m 0777 "$T/open" && chmod 0777 "$T/open"
refuses "a directory that others may write" 4 "other users can write to it.*chmod go-w" "$PP" run "${web[@]}" --no-record --cache "$T/open"
refuses "no directory" 2 "cannot make the cache" "$PP" run "${web[@]}" --no-record --cache "$T/no/where"
refuses "too little room" 2 "cache needs 1 MiB" "$PP" run "${web[@]}" --no-record --cache "$C" --cache-bytes 1000
refuses "no policy of this name" 2 "keep, clock or fifo|cache-policy" "$PP" run "${web[@]}" --no-record --cache "$C" --cache-policy lru
refuses "a size without a cache" 2 "cache-bytes goes with --cache" "$PP" run "${web[@]}" --no-record --cache-bytes 1GiB

mkdir "$T/tiny"
if [ "$(id -u)" -eq 0 ] && mount -t tmpfs -o size=512k,mode=0700 tmpfs "$T/tiny" 2>/dev/null; then
    servers_cleanup=$(declare -f cleanup)
    eval "servers_${servers_cleanup}"
    cleanup() { umount "$T/tiny" 2>/dev/null; servers_cleanup; }
    digest "$T/big/shard-{000000..000001}.tar" --epochs 2 --cache "$T/tiny" >"$T/tiny.digest"
    is "a full disk: the bytes of local files" "$(cat "$T/tiny.digest")" "$(digest "$T/big/shard-{000000..000001}.tar" --epochs 2)"
    digest "$T/big/shard-{000000..000001}.tar" --epochs 2 --cache "$T/tiny" >/dev/null
    like "a full disk is said" "$(cat "$ERR")" "note .*the disk is full, so nothing more is stored"
    report
    is "and found" "$(finding cache-trouble state)" found
    hits=$(counter hits_total)
    check "what had room is of use" test "$hits" -gt 0
    mount -o remount,ro "$T/tiny"
    digest "$T/big/shard-{000000..000001}.tar" --epochs 2 --cache "$T/tiny" >"$T/tiny.again"
    is "read-only: the bytes of local files" "$(cat "$T/tiny.again")" "$(cat "$T/tiny.digest")"
    digest "$T/big/shard-{000000..000001}.tar" --epochs 2 --cache "$T/tiny" >/dev/null
    like "read-only is said" "$(cat "$ERR")" "cannot be written: it is read, and nothing is stored"
    check "and it is read" test "$(counter hits_total)" -ge "$hits"
else
    skip "a full disk and a read-only one" "needs root to mount a small tmpfs"
fi
done_testing
