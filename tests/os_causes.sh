# tests/os_causes.sh: source it after lib.sh for stalls that the operating system makes, none of which the loader has a part in or knows of. Every why_no_* prints the
# reason where this machine cannot make its cause, and nothing where it can. What was set up goes away with cleanup.
#
#   quota_group N; throttle_group BYTES_PER_S   make a control group; in_group COMMAND... runs in it; drop_group takes it away
#   group_read_bytes                            what the group has read from disks so far; nothing where the kernel does not count it
#   drop_cache DIR                              what the page cache holds of the files in DIR goes
#   spin N; stop_spinning                       N processes that want a CPU
group= spinners=

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
drop_group() { [ -z "$group" ] || rmdir "$group" 2>/dev/null; group=; }
in_group() { bash -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "${group:?no control group was made}" "$@"; }

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
