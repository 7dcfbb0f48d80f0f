# tests/slow_fs.sh: source it after lib.sh to mount tests/tools/slow_fs.c. slow_mount DIR OPTIONS puts DIR at $T/slow; slow_unmount takes it away and
# leaves in $T/slow.count how often it was asked. With eio=FILE among OPTIONS the mount fails while FILE exists. why_no_fuse prints the reason where this machine cannot.
SLOW_FS=$PWD/$BUILD/tests/tools/slow_fs
slow_pid=

why_no_fuse() {
    if [ ! -x "$SLOW_FS" ]; then echo "libfuse3 was not found when the tests were built (Debian: libfuse3-dev)"
    elif [ ! -w /dev/fuse ]; then echo "there is no /dev/fuse that we may open"
    elif [ "$(id -u)" -ne 0 ] && ! command -v fusermount3 >/dev/null; then echo "mounting as a user needs fusermount3 (Debian: fuse3)"
    elif ! slow_mount "$PWD/tests/tools" lookup_ms=0; then echo "mounting was refused: $(head -n 1 "$T/slow.log")"
    else slow_unmount; fi
}

slow_mount() { # DIR OPTIONS
    mkdir -p "$T/slow"
    "$SLOW_FS" "$1" "$T/slow" -o "$2,count=$T/slow.count" 2>"$T/slow.log" &
    slow_pid=$!
    for _ in $(seq 100); do
        grep -q " $T/slow " /proc/mounts && return 0
        kill -0 "$slow_pid" 2>/dev/null || break
        sleep 0.05
    done
    kill "$slow_pid" 2>/dev/null
    return 1
}

slow_unmount() {
    kill "$slow_pid" 2>/dev/null
    wait "$slow_pid" 2>/dev/null
    slow_pid=
}

slow_abandon() { # without waiting for what it is in; it leaves no count
    umount -l "$T/slow" 2>/dev/null || fusermount3 -uz "$T/slow"
    kill -9 "$slow_pid" 2>/dev/null
    slow_unmount
}

slow_counted() { sed -n "s/^$1 //p" "$T/slow.count"; } # lookups | opens | reads | listings | failures

cleanup() {
    [ -z "$slow_pid" ] || slow_unmount
    rm -rf "$T"
}
