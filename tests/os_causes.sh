# tests/os_causes.sh: source it after lib.sh for stalls that the operating system makes, none of which the loader has a part in or knows of. Every why_no_* prints the
# reason where this machine cannot make its cause, and nothing where it can. What was set up goes away with cleanup.
#
#   quota_group N; throttle_group BYTES_PER_S   make a control group; in_group COMMAND... runs in it; drop_group takes it away
#   throttle_reads_group N                      likewise, N reads a second
#   memory_group BYTES                          likewise, with a limit of memory; a throttled disk besides: memory_group BYTES BYTES_PER_S
#   group_read_bytes                            what the group has read from disks so far; nothing where the kernel does not count it
#   drop_cache DIR                              what the page cache holds of the files in DIR goes
#   spin N; stop_spinning                       N processes that want a CPU
#   diagnose [in_group] ARGUMENTS...            pipeprobe run with these: its verdict in $l0, $l1, $l2, its report in $OUT
group= memory= spinners=

# The v1 hierarchy of a controller, or the unified one with it switched on for children.
group_root() { # CONTROLLER
    local v2=/sys/fs/cgroup
    if [ -w "/sys/fs/cgroup/$1/cgroup.procs" ]; then echo "/sys/fs/cgroup/$1"
    elif grep -qw "$2" "$v2/cgroup.subtree_control" 2>/dev/null; then echo "$v2"; fi
}

make_group() { # ROOT, FILE=VALUE...: a file that is not there is of the other version
    local root=$1 pair
    shift
    group=$root/pipeprobe-test-$$
    mkdir "$group" 2>/dev/null || { group=; return 1; }
    for pair; do
        if [ -e "$group/${pair%%=*}" ]; then echo "${pair#*=}" 2>/dev/null >"$group/${pair%%=*}" || { drop_group; return 1; }; fi
    done
}
drop_group() {
    [ -z "$group" ] || rmdir "$group" 2>/dev/null
    [ -z "$memory" ] || [ "$memory" = "$group" ] || rmdir "$memory" 2>/dev/null
    group= memory=
}
in_group() { bash -c 'echo $$ >"$0/cgroup.procs" && echo $$ >"$1/cgroup.procs" && shift && exec "$@"' "${group:?no control group was made}" "${memory:-$group}" "$@"; }

quota_group() { make_group "$(group_root cpu cpu)" cpu.cfs_period_us=100000 "cpu.cfs_quota_us=${1}000" "cpu.max=${1}000 100000"; } # MILLISECONDS of 100
why_no_quota() {
    [ -n "$(group_root cpu cpu)" ] || { echo "no control group with the cpu controller may be made here"; return; }
    quota_group 50 || echo "a CPU quota was refused"
    drop_group
}

# The disk (not the partition) that a directory is on: where the throttle sits.
disk_of() { # DIR
    local name
    name=$(findmnt -no SOURCE -T "$1" 2>/dev/null | sed 's|^/dev/||')
    [ -n "$name" ] && [ -e "/sys/class/block/$name" ] || return 1
    if [ -e "/sys/class/block/$name/partition" ]; then cat "/sys/class/block/$name/../dev"; else cat "/sys/class/block/$name/dev"; fi
}
throttle_group() { # BYTES_PER_S, for the disk that $T is on
    local device
    device=$(disk_of "$T") && make_group "$(group_root blkio io)" "blkio.throttle.read_bps_device=$device $1" "io.max=$device rbps=$1"
}
throttle_reads_group() { # READS_PER_S
    local device
    device=$(disk_of "$T") && make_group "$(group_root blkio io)" "blkio.throttle.read_iops_device=$device $1" "io.max=$device riops=$1"
}
# In version 1 memory is a hierarchy of its own: a second group, that in_group enters too.
memory_group() { # BYTES BYTES_PER_S
    local root
    root=$(group_root memory memory)
    [ -n "$root" ] && throttle_group "$2" || return 1
    memory=$group
    if [ "$root" != "$(group_root blkio io)" ]; then memory=$root/pipeprobe-test-$$; mkdir "$memory" 2>/dev/null || { drop_group; return 1; }; fi
    echo "$1" 2>/dev/null >"$memory/$([ -e "$memory/memory.max" ] && echo memory.max || echo memory.limit_in_bytes)" || { drop_group; return 1; }
}
why_no_memory() {
    [ -n "$(group_root memory memory)" ] || { echo "no control group with the memory controller may be made here"; return; }
    [ -z "$(why_no_throttle)" ] || { why_no_throttle; return; }
    memory_group 100000000 100000000 || { echo "a memory limit was refused"; return; }
    drop_group
}
# Version 1 has a line per device and kind ("254:0 Read 4096"), version 2 one per device ("254:0 rbytes=4096 ...").
group_read_bytes() {
    cat "$group/blkio.throttle.io_service_bytes" "$group/io.stat" 2>/dev/null |
        awk '$2 == "Read" { n += $3; known = 1 } $2 ~ /^rbytes=/ { n += substr($2, 8); known = 1 } END { if (known) printf "%.0f\n", n }'
}
why_no_throttle() {
    [ -n "$(group_root blkio io)" ] || { echo "no control group with the blkio or io controller may be made here"; return; }
    disk_of "$T" >/dev/null || { echo "$T is on no block device"; return; }
    throttle_group 1000000 || { echo "a read limit for the disk of $T was refused"; return; }
    drop_group
}

drop_cache() { # DIR
    sync -f "$1"
    find "$1" -type f -exec sh -c 'for f; do dd if="$f" iflag=nocache count=0 status=none; done' sh {} +
}

spin() { # N processes
    local i
    for i in $(seq "$1"); do
        sh -c 'while :; do :; done' &
        spinners="$spinners $!"
    done
}
stop_spinning() {
    [ -z "$spinners" ] || { kill $spinners; wait $spinners; } 2>/dev/null
    spinners=
}

diagnose() { # [in_group] ARGUMENTS...
    local enter=
    [ "$1" != in_group ] || { enter=in_group; shift; }
    run $enter timeout 60 "$PP" run "$@" --json --quiet --force -o "$T/run.sqlite"
    l0=$(json "$OUT" '$.verdict.l0') l1=$(json "$OUT" '$.verdict.l1') l2=$(json "$OUT" '$.verdict.l2')
    echo "# $l0 ${l1:-}/${l2:-}, data wait $(json "$OUT" '$.data_wait_share'), others $(awk '{ print $1 }' /proc/loadavg): $(json "$OUT" '$.verdict.sentence')"
}
