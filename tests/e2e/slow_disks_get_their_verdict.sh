#!/bin/bash
# alone
# Stalls of storage that the operating system makes: a slow file system, a dropped page cache behind a throttled disk, a page cache that is too small. Nothing is
# injected, so the verdict can come from effects alone; it must be the one that the same cause gets from the fault layer.
. "$(dirname "$0")/../lib.sh"
. tests/slow_fs.sh
. tests/os_causes.sh
need_pipeprobe
cleanup() {
    [ -z "$slow_pid" ] || slow_unmount
    drop_group
    rm -rf "$T"
}

"$MAKE_DATASET" "$T/images" --n 200 --size 240x200 >/dev/null

loader=(--workers 2 --batch-size 4 --step-ms 20 --duration 3)

reason=$(why_no_fuse)
if [ -z "$reason" ]; then
    slow_mount "$T/images" read_ms=40
    diagnose "$T/slow" "${loader[@]}"
    slow_unmount
    is "a file system that answers late: storage" "$l1/$l2" storage/latency
    slow_mount "$T/images" bandwidth=1500000
    diagnose "$T/slow" "${loader[@]}"
    slow_unmount
    is "a file system behind a full link: storage" "$l1" storage
    # the windows of a mapped file come by page faults
    mkdir "$T/tokens"
    truncate -s 1G "$T/tokens/train.bin"
    slow_mount "$T/tokens" read_ms=20
    diagnose "$T/slow/train.bin" "${loader[@]}"
    slow_unmount
    is "a mapped file on it: page faults" "$l1/$l2" storage/major-faults
else
    skip "a slow file system" "$reason"
fi

reason=$(why_no_throttle)
if [ -z "$reason" ]; then
    throttle_group 1000000
    drop_cache "$T/images"
    diagnose in_group "$T/images" "${loader[@]}"
    is "a dropped page cache, and a throttled disk: bandwidth" "$l1/$l2" storage/bandwidth
    like "its sentence names the group's limit" "$(json "$OUT" '$.verdict.sentence')" "may read 977 KiB/s from this disk"
    holds "the reads missed the page cache" "$(json "$OUT" '$.cache_hit_share') < 0.5"
    cat "$T/images"/*/* >/dev/null
    before=$(group_read_bytes)
    diagnose in_group "$T/images" "${loader[@]}"
    check "the same disk with a warm page cache: not storage" test "$l1" != storage
    # A kernel told to (DAMON's pageout) takes pages from the cache that were not touched for half a minute, and then reads do miss: what the group got from the disk says so.
    read_bytes=$(awk "BEGIN { print $(json "$OUT" '$.samples') * $(cat "$T/images"/*/* | wc -c) / 200 }")
    from_disk=$(($(group_read_bytes) - before))
    echo "# $from_disk bytes from the disk, $read_bytes read"
    holds "the reads hit the page cache where the disk was not read" "$(json "$OUT" '$.cache_hit_share') > 0.9 - $from_disk / $read_bytes"
    drop_group
    throttle_reads_group 50
    drop_cache "$T/images"
    diagnose in_group "$T/images" "${loader[@]}"
    drop_group
    is "a disk with a limit of reads: IOPS" "$l1/$l2" storage/iops-limit
    # A limit that the recording does not know of, as a volume has it: the times of the reads tell. With one worker no other read is let go with it, and its slices show
    # by what each lets through. Load from outside can hide them for seconds, so each has three runs.
    for workers in 2 1; do
        for _ in 1 2 3; do
            throttle_reads_group 50
            drop_cache "$T/images"
            diagnose in_group "$T/images" --workers $workers --batch-size 4 --step-ms 20 --duration 3
            drop_group
            sql "$T/run.sqlite" "DELETE FROM meta WHERE key LIKE 'disk_limit%'"
            run "$PP" report "$T/run.sqlite" --format json
            [[ ! "$(json "$OUT" '$.verdict.l2')" =~ ^(iops-limit|bandwidth)$ ]] || break
        done
        like "the same, without the group's limit in the recording, $workers worker(s)" "$(json "$OUT" '$.verdict.l1')/$(json "$OUT" '$.verdict.l2')" '^storage/(iops-limit|bandwidth)$'
    done
else
    skip "a throttled disk" "$reason"
fi

reason=$(why_no_memory)
if [ -z "$reason" ]; then
    "$MAKE_DATASET" "$T/more" --n 800 --size 480x400 >/dev/null
    sync -f "$T/more"
    drop_cache "$T/more"
    memory_group 80000000 15000000 # the run itself takes 45 of them
    diagnose in_group "$T/more" --workers 2 --batch-size 8 --step-ms 5 --duration 10
    drop_group
    is "a page cache that the memory limit keeps too small" "$l1/$l2" storage/page-cache
    like "its sentence names both sizes" "$(json "$OUT" '$.verdict.sentence')" 'limit of the control group is 76.3 MiB, and the data takes 7[0-9.]+ MiB'
else
    skip "a page cache that is too small" "$reason"
fi
done_testing
