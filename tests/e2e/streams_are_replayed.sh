#!/bin/bash
# A streamed run (--stream) has a verdict and predictions as any other: its one reader is replayed, with the requests that it makes.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../remote.sh"
need_pipeprobe
need_remote

"$MAKE_DATASET" "$T/data" --n 240 --size 64x48 --tar 12 >/dev/null
serve "$T/data"
URL="http://127.0.0.1:$PORT/shard-{000000..000011}.tar"
predicted() { "$PP" whatif "$T/run.sqlite" --set "$1" --json 2>"$T/whatif.err" >"$T/whatif.json" && json "$T/whatif.json" '$.predictions[0].gain'; }

# ---- storage that is slow to answer: three requests of 60 ms for the 20 samples of a shard, however many workers there are ----

set_faults 'latency-ms=60'
run timeout 60 "$PP" run "$URL" --stream --shuffle-buffer 1 --workers 2 --batch-size 4 --transform rrc:32,hflip --step-ms 1 --steps 160 --quiet --force -o "$T/run.sqlite" --json
is "it is recorded" "$rc" 0
is "the cause is storage" "$(json "$OUT" '$.verdict.l1')" storage
like "and the sentence names the stream" "$(json "$OUT" '$.verdict.sentence')" "the stream is read by one request after the other"
is "its requests are those of the reader" "$(sql "$T/run.sqlite" 'SELECT count(*) > 20 AND sum(sample IS NOT NULL) = 0 FROM request')" 1
holds "half the latency is predicted to gain most of what it can" "$(predicted object-latency=0.5) > 0.5"
holds "and more workers next to nothing" "$(predicted workers=8) < 0.1"
holds "a warm cache removes the reads" "$(predicted cache=warm) > 1"
refuses "reads in flight are not for streams" 4 "a stream .--stream. is read by one thread" "$PP" whatif "$T/run.sqlite" --set inflight=4
refuses "nor are hedged requests" 4 "made once" "$PP" whatif "$T/run.sqlite" --set hedge=p95

# ---- local shards: what decodes is the limit, and a shuffle buffer changes nothing of that ----

run timeout 60 "$PP" run "$T/data/shard-{000000..000011}.tar" --stream --shuffle-buffer 50 --workers 1 --batch-size 4 --transform rrc:32 --step-ms 1 --inject decode-cost=30 \
    --steps 200 --quiet --force -o "$T/run.sqlite" --json
is "a local stream is recorded" "$rc" 0
like "it is no storage" "$(json "$OUT" '$.verdict.l1')" "^(loader|transform)$"
holds "cheaper decoding is predicted to gain" "$(predicted decode=0.5) > 0.3"
holds "quicker storage is not" "$(predicted storage-latency=0.5) < 0.1"
done_testing
