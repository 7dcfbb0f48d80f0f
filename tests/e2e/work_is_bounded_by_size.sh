#!/bin/bash
# Files of a few megabytes that were made to keep `import`, `run` or `resume-test` busy for hours, or to take memory that no limit was asked for:
# each ends within seconds, right or with a sentence.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
python=${PYTHON:-/usr/bin/python3}
[ -x "$python" ] || skip_all "python3 is not installed"
export PYTHONPATH=${VENVS:-$PWD/build/venvs}/columns # as columns_equal_their_packages.sh makes it
make_file() { "$python" tests/e2e/work_is_bounded_by_size.py "$@" && holds "($1: a small file)" "$(stat -c %s "$2") < ${3:-0} * 10 + 12000000"; }

# takes_little KIND NAME REGEX: it takes at most 15 s of CPU time (one event took 50 us; the machine may be busy).
takes_little() {
    make_file "$1" "$T/$2"
    run bash -c "ulimit -t 15; exec timeout 120 '$PP' import --force -o '$T/$1.sqlite' '$T/$2'"
    like "import of $1 ends" "$rc $(cat "$OUT" "$ERR")" "$3"
}
takes_little xplane x.xplane.pb.gz "^0 .*20 steps"
takes_little kineto k.json.gz "^0 .*20 steps"
takes_little blanks b.json.gz "^4 .*unpacks to more than 200 times its bytes"
takes_little nsys n.sqlite "^0 .*20 steps"
takes_little nsys_scan s.sqlite "^4 .*reading it touches more than 400 times its bytes"

# A shard is unpacked while it is read: the member that has no end is a damaged shard, and the run ends when it is told to.
make_file packed "$T/p.tar.zst"
run bash -c "ulimit -t 15; exec timeout 60 '$PP' run '$T/p.tar.zst' --stream --duration 3s --workers 1 --no-record"
like "a packed shard ends" "$rc $(grep unpacks "$ERR")" "^4 .*p\.tar\.zst: it unpacks to more than 2000 times its bytes; it is damaged"
# Members without a byte: 9 bytes each.
"$python" -c 'import sys; sys.stdout.buffer.write(b"\x28\xb5\x2f\xfd\x00\x88\x01\x00\x00" * 3700000)' >"$T/e.tar.zst"
run bash -c "ulimit -t 25; exec timeout 100 '$PP' run '$T/e.tar.zst' --stream --duration 3s --workers 1 --no-record"
like "and so does one of empty members" "$rc $(grep unpacks "$ERR")" "^4 .*e\.tar\.zst: it unpacks to more than 2000 times its bytes; it is damaged"

"$PP" run --synthetic n=64,size=8x8 --epochs 1 --quiet -o "$T/epochs.sqlite" >/dev/null
make_file epochs "$T/epochs.sqlite"
run bash -c "ulimit -t 15; exec timeout 120 '$PP' resume-test '$T/epochs.sqlite' '$T/epochs.sqlite' '$T/epochs.sqlite'"
like "resume-test of it ends" "$rc $(cat "$OUT" "$ERR")" "^3 It cannot be told"

# ---- Ctrl-C while a file is opened ----

# interrupted NAME COMMAND...: in the middle of what has no end, or of what takes seconds; $rc, and 255 where it had to be killed.
interrupted() {
    local name=$1 began
    shift
    "$@" >"$OUT" 2>"$ERR" </dev/null &
    local opening=$!
    for _ in $(seq 400); do [ -e "$T/in_the_middle" ] && break; sleep 0.05; done
    began=$(date +%s%N)
    kill -INT $opening
    (sleep 60 && kill -KILL $opening) 2>/dev/null &
    local late=$!
    wait $opening
    rc=$?
    kill $late 2>/dev/null
    echo "# $name: answered after $((($(date +%s%N) - began) / 1000000)) ms"
    rm -f "$T/in_the_middle"
}

# Of a trace: a larger one where the machine had read it by then. `import` leaves SIGINT its default action, which ends it at once: 130, and not a word.
while read -r events after; do
    make_file long "$T/long.json.gz" "$events"
    began=$(date +%s%N)
    run timeout --preserve-status -s INT -k 60 "$after" "$PP" import --force -o "$T/long.sqlite" "$T/long.json.gz"
    echo "# a trace of $(stat -c %s "$T/long.json.gz") bytes, Ctrl-C after $after s: ended after $((($(date +%s%N) - began) / 1000000)) ms"
    [ $rc -ne 130 ] || break
done <<'SIZES'
300000 0.3
3000000 1
30000000 3
SIZES
is "Ctrl-C while a compressed trace is read" "$rc $(cat "$ERR")" "130 "
is "Ctrl-C while a compressed trace is read: nothing is left" "$(ls -d "$T"/long.sqlite* 2>/dev/null)" ""

# A libhdf5 that opens nothing in the child, or has links without end behind it; the marker is written from there.
calls=$(sed -n 's/^ *X([a-z0-9_ *]*, \(H5[A-Za-z0-9_]*\),.*/\1/p' probe/columns/hdf5.c | grep -v -e H5Fopen -e H5get_libversion)
cat >"$T/h5.c" <<C
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
$(for call in $calls; do echo "long $call() { return 1; }"; done)
static int first;
int H5get_libversion(unsigned *a, unsigned *b, unsigned *c) { first = getpid(); *a = 1, *b = 10, *c = 8; return 0; }
static void mark(void) { close(open("$T/in_the_middle", O_CREAT | O_WRONLY, 0600)); }
long H5Fopen() { while (getpid() != first && getenv("STALLS")) { mark(); pause(); } return 1; }
int H5Literate(long g, int i, int o, void *at, int (*fn)(long, const char *, const void *, void *), void *ctx)
{
    static const int soft[16] = {1};
    if (getpid() != first) return 0;
    for (mark();; usleep(1000)) { int rc = fn(g, "x", soft, ctx); if (rc) return rc; }
}
C
mkdir -p "$T/lib"
gzip -dc tests/recordings/hdf5/plain.h5.gz >"$T/p.h5"
if ! cc -w -shared -fPIC -o "$T/lib/libhdf5_serial.so.103" "$T/h5.c" 2>"$T/cc"; then
    skip "Ctrl-C while an HDF5 file is opened" "no C compiler: $(head -n 1 "$T/cc")"
else
    interrupted "HDF5, in the child" env LD_LIBRARY_PATH="$T/lib" STALLS=1 "$PP" run "$T/p.h5" --duration 1s --no-record
    is "Ctrl-C while libhdf5 opens a file" "$rc $(cat "$ERR")" "130 pipeprobe run: interrupted"
    interrupted "HDF5, its links" env LD_LIBRARY_PATH="$T/lib" "$PP" run "$T/p.h5" --duration 1s --no-record
    is "Ctrl-C while the links of an HDF5 file are walked" "$rc $(cat "$ERR")" "130 pipeprobe run: interrupted"
fi

if ! "$python" -c 'import h5py, pyarrow' 2>/dev/null; then
    skip "files of columns end too" "h5py and pyarrow are not installed"
    done_testing
fi
make_file arrow "$T/a.arrow"
refuses "a footer that names a batch twice" 4 "its footer names byte [0-9]+ for record batch 1" "$PP" run "$T/a.arrow" --duration 1s
make_file links "$T/l.h5"
run bash -c "ulimit -t 30; exec timeout 60 '$PP' run '$T/l.h5' --duration 3s --workers 1 --no-record"
is "a group that holds itself is walked once" "$rc" 0

make_file chunk "$T/c.h5"
run bash -c "ulimit -v 1000000; exec timeout 120 '$PP' run '$T/c.h5' --duration 1s --workers 1 --max-sample-memory 64M --force -o '$T/c.sqlite'"
like "a chunk above the limit is refused" "$(cat "$ERR")" "a chunk of images in .*c\.h5: needs 1024 MiB, limit 61 MiB; raise it with --max-sample-memory"
done_testing
