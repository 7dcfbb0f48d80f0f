#!/bin/bash
# Once warm, no image costs an allocation: runs of different length call the allocator equally often.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
COUNTER=$PWD/$BUILD/tests/tools/libmalloccount.so
need_built helpers "$COUNTER"

"$MAKE_DATASET" "$T/images" --n 128 --size 240x200 >/dev/null
allocations() { # STEPS OPTIONS...: "all workers'"
    local steps=$1
    shift
    MALLOC_COUNT_FILE=$T/count LD_PRELOAD=$COUNTER "$PP" run "$T/images" --workers 2 --batch-size 16 --step none --steps "$steps" --quiet "$@" >"$OUT" 2>"$ERR"
    cat "$T/count"
}
slope() { # "all workers'" per image; the first 40 steps show every image size to a worker
    echo "$(allocations 40 "$@") $(allocations 160 "$@")" | awk '{print ($3 - $1) / (120 * 16), ($4 - $2) / (120 * 16)}'
}

read -r all workers <<<"$(slope --no-record)"
echo "# calls per image, not recording: $all, by workers $workers"
holds "not recording: the whole process allocates nothing per image" "$all < 0.02"
# Recorded, the rows and the report at the end are made of allocations; the workers still make none.
read -r all workers <<<"$(slope --force -o "$T/run.sqlite")"
echo "# calls per image, recording: $all, by workers $workers"
holds "recording: the workers allocate nothing per image" "$workers < 0.02"

# Buffers still grow now and then, when a worker meets its largest image yet.
run "$PP" run "$T/images" --workers 2 --batch-size 16 --step none --steps 160 --quiet --no-record --json
holds "the loader's own count agrees" "$(json "$OUT" '$.allocations_warm') < 0.005 * 160 * 16"

# A page fault of the drain can interrupt every core (base/heap.h): its memory is there beforehand. What remains is the rings' pages, 16 at a time.
run "$PP" run "$T/images" --workers 2 --batch-size 16 --step none --steps 160 --quiet --force -o "$T/run.sqlite"
result() { sqlite3 "$T/run.sqlite" "SELECT value FROM meta WHERE section = 'result' AND key = '$1'"; }
echo "# page faults of the drain: $(result recorder_page_faults), spans $(result recorded_spans)"
holds "the drain does not fault its memory in while it records" "$(result recorder_page_faults) < 100 + $(result recorded_spans) / 512"
done_testing
