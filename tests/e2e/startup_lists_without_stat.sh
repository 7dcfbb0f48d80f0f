#!/bin/bash
# 20,000 files where every look-up takes 3 ms: a stat per file would be a minute before the first batch. Listing asks for directories alone.
. "$(dirname "$0")/../lib.sh"
. tests/slow_fs.sh
need_pipeprobe

files=20000 lookup_ms=3
"$MAKE_DATASET" "$T/seed" --n 100 --size 64x64 --classes 1 >/dev/null
mkdir "$T/images"
for class in $(seq 200); do cp -al "$T/seed/class_000" "$T/images/class_$class"; done # hard links: 20,000 names of 100 files
is "the data set has the names it is to have" "$(find "$T/images" -name '*.jpg' | wc -l)" "$files"

starts_quickly() { # NAME LOOKUPS
    is "$1: the run delivers its four batches" "$(json "$OUT" "\$.samples")" 32
    local startup
    startup=$(json "$OUT" '$.startup_s')
    echo "# $1: start-up ${startup:-unknown} s, $2 look-ups; a stat per file: $((files * lookup_ms / 1000)) s"
    holds "$1: starts in seconds" "${startup:-99} < 10"
    holds "$1: far fewer look-ups than files" "$2 > 0 && $2 < $files / 20"
}

# The 32 samples delivered, and those read ahead, are opened once each: no part of the listing, and little.
ask=(--workers 2 --batch-size 8 --steps 4 --json --quiet --force -o "$T/run.sqlite")
run timeout 120 env SLOW_STAT_MS=$lookup_ms SLOW_STAT_COUNT="$T/preload.count" LD_PRELOAD="$PWD/$BUILD/tests/tools/libslow_stat.so" "$PP" run "$T/images" "${ask[@]}"
starts_quickly "slow stat" "$(sed -n 's/^lookups //p' "$T/preload.count")"

# The shim itself must see a stat per file, or the count above would be worth nothing.
run env SLOW_STAT_MS=0 SLOW_STAT_COUNT="$T/shim.count" LD_PRELOAD="$PWD/$BUILD/tests/tools/libslow_stat.so" ls -l "$T/seed/class_000"
holds "the shim counts a stat per file where there is one" "$(sed -n 's/^lookups //p' "$T/shim.count") >= 100"

reason=$(why_no_fuse)
if [ -n "$reason" ]; then
    skip "a mount with slow look-ups" "$reason"
elif slow_mount "$T/images" "lookup_ms=$lookup_ms"; then
    run timeout 120 "$PP" run "$T/slow" "${ask[@]}"
    slow_unmount
    starts_quickly "slow mount" "$(slow_counted lookups)"
else
    fail "a mount with slow look-ups" <"$T/slow.log"
fi
done_testing
