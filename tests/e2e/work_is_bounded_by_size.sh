#!/bin/bash
# Files of a few megabytes that were made to keep `import` or `run` busy for hours, or to take memory that no limit was asked for: each ends within
# seconds, right or with a sentence.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
python=${PYTHON:-/usr/bin/python3}
[ -x "$python" ] || skip_all "python3 is not installed"
export PYTHONPATH=${VENVS:-$PWD/build/venvs}/columns # as columns_equal_their_packages.sh makes it
make_file() { "$python" tests/e2e/work_is_bounded_by_size.py "$@" && holds "($1: a small file)" "$(stat -c %s "$2") < 12000000"; }

# imports KIND NAME REGEX: it takes at most 15 s of CPU time (one event took 50 us; the machine may be busy).
imports() {
    make_file "$1" "$T/$2"
    run bash -c "ulimit -t 15; exec timeout 120 '$PP' import --force -o '$T/$1.sqlite' '$T/$2'"
    like "import of $1 ends" "$rc $(cat "$OUT" "$ERR")" "$3"
}
imports xplane x.xplane.pb.gz "^0 .*20 steps"
imports kineto k.json.gz "^0 .*20 steps"
imports blanks b.json.gz "^4 .*unpacks to more than 200 times its size"
imports nsys n.sqlite "^0 .*20 steps"
imports nsys_scan s.sqlite "^4 .*reading it would take much longer than its size allows"

if ! "$python" -c 'import h5py, pyarrow' 2>/dev/null; then
    skip "files of columns end too" "h5py and pyarrow are not installed"
    done_testing
fi
make_file arrow "$T/a.arrow"
refuses "a footer that names a batch twice" 4 "its footer names byte [0-9]+ for record batch 1" "$PP" run "$T/a.arrow" --duration 1s
make_file links "$T/l.h5"
run bash -c "ulimit -t 30; exec timeout 60 '$PP' run '$T/l.h5' --duration 3s --workers 1 --force -o '$T/l.sqlite'"
is "a group that holds itself is walked once" "$rc" 0

make_file chunk "$T/c.h5"
run bash -c "ulimit -v 1000000; exec timeout 120 '$PP' run '$T/c.h5' --duration 1s --workers 1 --max-sample-memory 64M --force -o '$T/c.sqlite'"
like "a chunk above the limit is refused" "$(cat "$ERR")" "a chunk of images in .*c\.h5: needs 1024 MiB, limit 61 MiB; raise it with --max-sample-memory"
done_testing
