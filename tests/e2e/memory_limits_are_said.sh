#!/bin/bash
# Under a control group's memory limit a run that does not fit is refused with a sentence, and is not killed by the kernel; one that fits runs.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
case $BUILD in */release) ;; *) skip_all "a sanitizer's own memory exceeds the limits" ;; esac

# A group of our own, where one can be made: v1, or v2 with the controller handed down.
group=
limit() { # BYTES
    if [ -f "$group/memory.max" ]; then echo "$1" >"$group/memory.max"; else echo "$1" >"$group/memory.limit_in_bytes"; fi
}
for root in /sys/fs/cgroup/memory$(sed -n 's/^[0-9]*:memory://p' /proc/self/cgroup) /sys/fs/cgroup; do
    [ -w "$root/cgroup.procs" ] || continue
    mkdir "$root/pipeprobe-test-$$" 2>/dev/null || continue
    group=$root/pipeprobe-test-$$
    limit 100000000 2>/dev/null && break
    rmdir "$group" && group=
done
[ -n "$group" ] || skip_all "no control group with a memory limit can be made here"
cleanup() { for _ in 1 2 3 4 5; do rmdir "$group" 2>/dev/null && break; sleep 0.2; done; rm -rf "$T"; }

"$MAKE_DATASET" "$T/images" --n 32 --size 64x48 --classes 1 >/dev/null
limit $((64 << 20))
in_group=(bash -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$group")
refuses "slots beyond the limit" 2 "slots .*left of the control group's memory limit of 64.0 MiB; lower --batch-size" "${in_group[@]}" "$PP" run "$T/images" --batch-size 256 --workers 2 --prefetch 4 --steps 2 --force -o "$T/a.sqlite"
check "nothing was begun" test ! -e "$T/a.sqlite"
refuses "the same without a recording" 2 "memory limit" "${in_group[@]}" "$PP" run "$T/images" --batch-size 256 --workers 2 --prefetch 4 --steps 2 --no-record
run timeout 60 "${in_group[@]}" "$PP" run "$T/images" --batch-size 4 --workers 1 --epochs 2 --force -o "$T/a.sqlite"
check "a run that fits is run" test "$rc" -eq 0 -o "$rc" -eq 3
limit $((12 << 20))
refuses "a limit below the smallest run" 4 "memory limit is 12.0 MiB.*raise memory.max" "${in_group[@]}" "$PP" run "$T/images" --batch-size 4 --workers 1 --epochs 1 --force -o "$T/b.sqlite"
done_testing
