#!/bin/bash
# Once warm, no image costs an allocation: two runs of different length call the allocator equally often.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
COUNTER=$PWD/$BUILD/tests/tools/libmalloccount.so
[ -e "$COUNTER" ] || skip_all "$COUNTER is not built (make helpers)"

"$MAKE_DATASET" "$T/images" --n 128 --size 240x200 >/dev/null
allocations() { # STEPS OPTIONS...
    local steps=$1
    shift
    MALLOC_COUNT_FILE=$T/count LD_PRELOAD=$COUNTER "$PP" run "$T/images" --workers 2 --batch-size 16 --step none --steps "$steps" --quiet "$@" >/dev/null 2>"$ERR"
    cat "$T/count"
}
slope() { echo "$(allocations 40 "$@") $(allocations 160 "$@")" | awk '{print ($2 - $1) / (120 * 16)}'; }

per_image=$(slope --no-record)
echo "# $per_image allocator calls per image, not recording"
holds "not recording: none per image" "$per_image < 0.01"
# The store allocates per chunk and per commit, not per image.
per_image=$(slope --force -o "$T/run.sqlite")
echo "# $per_image allocator calls per image, recording"
holds "recording: fewer than one per image" "$per_image < 1"

run "$PP" run "$T/images" --workers 2 --batch-size 16 --step none --steps 160 --quiet --no-record --json
is "the loader's own count agrees" "$(json "$OUT" '$.allocations_warm')" 0
done_testing
