#!/bin/bash
# A streamed run (--stream) has a verdict and predictions as any other: its one reader is replayed, with the requests that it makes.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../remote.sh"
need_pipeprobe
need_remote

"$MAKE_DATASET" "$T/data" --n 240 --size 64x48 --tar 12 >/dev/null
"$MAKE_DATASET" "$T/data/twofold" --n 240 --size 64x48 --tar 6 >/dev/null
"$MAKE_DATASET" "$T/data/one" --n 240 --size 64x48 --tar 1 >/dev/null
serve "$T/data"
URL="http://127.0.0.1:$PORT/shard-{000000..000011}.tar"
predicted() { "$PP" whatif "$T/run.sqlite" --set "$1" --json 2>"$T/whatif.err" >"$T/whatif.json" && json "$T/whatif.json" '$.predictions[0].gain'; }

# ---- storage that is slow to answer: a request of 60 ms for the 20 samples of a shard, however many workers there are ----

set_faults 'latency-ms=60'
streamed() { # URL: $rate, samples/s of the stream; the recording is run.sqlite
    run timeout 60 "$PP" run "$1" --stream --shuffle-buffer 1 --workers 2 --batch-size 4 --transform rrc:32,hflip --step-ms 1 --steps 160 --quiet --force -o "$T/run.sqlite" --json
    rate=$(json "$OUT" '$.samples_per_s')
}
streamed "http://127.0.0.1:$PORT/twofold/shard-{000000..000005}.tar"
twofold=$rate
streamed "http://127.0.0.1:$PORT/one/shard-000000.tar"
one=$rate
refuses "of one shard its size is not known" 4 "fewer than 4 shards were opened" "$PP" whatif "$T/run.sqlite" --set shard-size=64MiB
streamed "$URL"
small=$rate
is "it is recorded" "$rc" 0
is "the cause is storage" "$(json "$OUT" '$.verdict.l1')" storage
is "the shards are too small" "$(json "$OUT" '$.verdict.l2')" small-objects
like "and the sentence says what one takes" "$(json "$OUT" '$.verdict.sentence')" "A shard has [0-9.]+ KiB \(1 request\)"
like "larger ones are the next step" "$(json "$OUT" '$.verdict.next_step')" "Write larger shards"
is "its requests are those of the reader" "$(sql "$T/run.sqlite" 'SELECT count(*) > 20 AND sum(sample IS NOT NULL) = 0 FROM request')" 1
holds "half the latency is predicted to gain most of what it can" "$(predicted object-latency=0.5) > 0.5"
holds "and more workers next to nothing" "$(predicted workers=8) < 0.1"
holds "a warm cache removes the reads" "$(predicted cache=warm) > 1"

# ---- larger shards: what is predicted comes true, in direction and order (a request for 20, 40 and 240 samples) ----

bytes=$(sql "$T/run.sqlite" 'SELECT sum(bytes) / sum(flags & 16 > 0) FROM request')
twice=$(predicted "shard-size=$((2 * bytes))") most=$(predicted shard-size=64MiB) half=$(predicted "shard-size=$((bytes / 2))")
holds "shards of half the size are predicted to cost" "$half < -0.2"
holds "twofold ones to gain, and the largest most" "$twice > 0.3 && $most > $twice + 0.5"
holds "and so it is" "$twofold > 1.2 * $small && $one > 1.2 * $twofold"
holds "as far as predicted, within a third" "$twofold / $small > 0.66 * (1 + $twice) && $twofold / $small < 1.5 * (1 + $twice)"

refuses "reads in flight are not for streams" 4 "a stream .--stream. is read by one thread" "$PP" whatif "$T/run.sqlite" --set inflight=4
refuses "nor are hedged requests" 4 "made once" "$PP" whatif "$T/run.sqlite" --set hedge=p95

# ---- local shards: what decodes is the limit, and a shuffle buffer changes nothing of that ----

run timeout 60 "$PP" run "$T/data/shard-{000000..000011}.tar" --stream --shuffle-buffer 50 --workers 1 --batch-size 4 --transform rrc:32 --step-ms 1 --inject decode-cost=30 \
    --steps 800 --quiet --force -o "$T/run.sqlite" --json
is "a local stream is recorded" "$rc" 0
like "it is no storage" "$(json "$OUT" '$.verdict.l1')" "^(loader|transform)$"
holds "cheaper decoding is predicted to gain" "$(predicted decode=0.5) > 0.3"
holds "quicker storage is not" "$(predicted storage-latency=0.5) < 0.1"
refuses "nor is the size of its shards" 4 "no requests to a remote storage" "$PP" whatif "$T/run.sqlite" --set shard-size=64MiB
done_testing
