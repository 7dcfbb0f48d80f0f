#!/bin/bash
# A loader in native threads, as tf.data, DALI and every C++ loader are: no span says what its threads do. Looks from outside do, and the cause follows.
. "$(dirname "$0")/../lib.sh"
. tests/slow_fs.sh
need_pipeprobe

quiet_make() { env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s DIST="$T/dist" "$@"; }
run quiet_make install DESTDIR="$T/stage" PREFIX=/usr
is "install" "$rc" 0
check "tests/jobs/native_threads.c compiles" "${CC:-cc}" -O1 -Wall -Wextra -Werror -I"$T/stage/usr/include" tests/jobs/native_threads.c -L"$T/stage/usr/lib" -lpipeprobe -lpthread -o "$T/job"
export LD_LIBRARY_PATH=$T/stage/usr/lib PIPEPROBE_COLLECTOR=$PP

judged() { # NAME KIND CAUSE FILES...: the job's threads do that, and the report says why training waits
    local name=$1 kind=$2 cause=$3
    shift 3
    run timeout 60 "$T/job" "$T/$kind.sqlite" "$kind" "$@"
    is "$name: the job runs" "$rc" 0
    holds "$name: its threads were looked at" "$(sqlite3 "$T/$kind.sqlite" 'SELECT count(*) FROM thread_look') >= 20"
    run "$PP" report --json "$T/$kind.sqlite"
    is "$name: training waits" "$(json "$OUT" '$.verdict.l0')" input-bound
    like "$name: the cause" "$(json "$OUT" '$.verdict.l1') $(json "$OUT" '$.verdict.reason')" "$cause"
    like "$name: a sentence with its evidence" "$(json "$OUT" '$.verdict.cause') $(json "$OUT" '$.verdict.reason')" "while training waits,? (no thread|[0-9.]+ threads?)"
}

# On CPUs that are free the threads are too few; on others' or their own all CPUs are taken.
judged "threads that compute" computes "^(transform|loader) "
is "and who computes is named by the kernel" "$(sqlite3 "$T/computes.sqlite" 'SELECT sum(computes + ready > 0.3) > 0 FROM v_native_thread')" 1
judged "threads that sleep" sleeps "^(null)? ?.*no thread of the job's processes is at work"

reason=$(why_no_fuse)
"$MAKE_DATASET" "$T/seed" --n 64 --size 64x64 --classes 1 >/dev/null
if [ -n "$reason" ]; then
    skip "threads that read" "$reason"
elif slow_mount "$T/seed" "open_ms=8"; then
    judged "threads that read" reads "^storage " "$T"/slow/class_000/*.jpg
    like "and which calls these are in" "$(sqlite3 "$T/reads.sqlite" 'SELECT max(reads) > 0.5 FROM v_native_thread')" 1
    slow_unmount
else
    fail "a slow mount" <"$T/slow.log"
fi
done_testing
