#!/bin/bash
# A loader of the user's own: builds against the installed header and library, needs no SQLite, and its run is reported on like any other.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe

quiet_make() { env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s DIST="$T/dist" "$@"; }
run quiet_make install DESTDIR="$T/stage" PREFIX=/usr
is "install" "$rc" 0
export PKG_CONFIG_PATH=$T/stage/usr/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$T/stage
if command -v pkg-config >/dev/null; then
    flags=$(pkg-config --cflags --libs pipeprobe)
    check "pkg-config knows pipeprobe" test -n "$flags"
else
    flags="-I$T/stage/usr/include -L$T/stage/usr/lib -lpipeprobe"
    skip "pkg-config knows pipeprobe" "no pkg-config"
fi
# shellcheck disable=SC2086
check "samples/c_loader.c compiles and links with it" "${CC:-cc}" -Wall -Wextra -Werror samples/c_loader.c $flags -lpthread -o "$T/c_loader"
shown=$(nm -D --defined-only "$T/stage/usr/lib/libpipeprobe.so" 2>/dev/null | awk '{print $3}' | sed 's/@.*//' | grep -v '^PIPEPROBE_' | sort)
check "the library has what the header declares" grep -qx pp_span_begin <<<"$shown"
is "and shows nothing else" "$(grep -cE 'session|ring|fail|anchor' <<<"$shown")" 0
needed=$(LC_ALL=C objdump -p "$T/stage/usr/lib/libpipeprobe.so" 2>/dev/null | awk '/NEEDED/ {print $2}')
is "no SQLite comes with it" "$(grep -c sqlite <<<"$needed")" 0

# Recording switched off costs the caller a test: with functions that count in the library's place, none is called. Told otherwise, each is.
cat >"$T/off.c" <<'C'
#include <pipeprobe/pipeprobe.h>
extern int calls;
int main(int argc, char **argv)
{
    struct pp_thread *volatile off = argc > 1 ? (struct pp_thread *)argv : 0;
    pp_lap_start(off), pp_lap_expect(off, PP_PHASE_READ, 0), pp_lap_end(off, PP_PHASE_READ, &(struct pp_lap){.batch = 1, .sample = 2}), pp_lap_skip(off);
    pp_span_begin(off, PP_PHASE_READ, 0), pp_span_end(off, 0, 0), pp_span_put(off, 0), pp_counter_put(off, 1, 2);
    return calls;
}
C
{ echo 'int calls;'; for f in lap_start lap_expect lap_end lap_skip span_begin span_end span_put counter_put; do echo "void pp_$f(void) { calls++; }"; done; } >"$T/calls.c"
check "a program that counts the calls" "${CC:-cc}" -O2 -Wall -Wextra -Werror -I"$T/stage/usr/include" "$T/off.c" "$T/calls.c" -o "$T/off"
run "$T/off"
is "recording off makes no call" "$rc" 0
run "$T/off" on
is "on makes each" "$rc" 8

export LD_LIBRARY_PATH=$T/stage/usr/lib
export PIPEPROBE_COLLECTOR=$T/stage/usr/bin/pipeprobe
run timeout 60 "$T/c_loader" "$T/run.sqlite"
is "the program runs" "$rc" 0
is "and says nothing" "$(cat "$OUT" "$ERR")" ""
is "its file is finished when it ends" "$(ls "$T" | grep '^run\.sqlite')" "run.sqlite"
is "the file is sound" "$(sqlite3 "$T/run.sqlite" 'PRAGMA integrity_check')" ok
is "every span is there" "$(sqlite3 "$T/run.sqlite" "SELECT count(*) FROM v_span WHERE phase IN ('read', 'decode', 'data_wait', 'step')")" $((400 * (8 * 2 + 2)))
is "the counter too" "$(sqlite3 "$T/run.sqlite" "SELECT max(value) FROM counter WHERE name = 'samples seen'")" 3200.0
run "$PP" report "$T/run.sqlite"
is "report has a verdict" "$rc" 0
like "that the trainer waits for its workers" "$(cat "$OUT")" "waits for data [0-9.]+ % of the time"
is "and no option of another loader" "$(grep -cE -- "--(duration|steps|workers|prefetch|step-ms|out-of-order)" <(grep -v whatif "$OUT"))" 0
is "and says its workers and batch size, so that changes are predicted" "$(grep -c '^Gain: .*samples/s, ' "$OUT")" 1
is "and counts the samples in one way" "$(grep -c "has 0 samples" "$OUT")" 0

unset PIPEPROBE_COLLECTOR
PIPEPROBE_COLLECTOR=/nonexistent run timeout 60 "$T/c_loader" "$T/alone.sqlite"
is "without a collector the program runs all the same" "$rc" 0
like "and says where its spans are" "$(cat "$ERR")" "no collector"
run "$PP" report "$T/alone.sqlite"
is "report recovers them" "$rc" 0
is "and what the program said of its loader" "$(sqlite3 "$T/alone.sqlite" "SELECT group_concat(key || '=' || CAST(value AS INTEGER), ' ') FROM (SELECT * FROM meta WHERE section = 'config' ORDER BY key)")" "batch_size=8 workers=2"
is "every span is there" "$(sqlite3 "$T/alone.sqlite" "SELECT count(*) FROM v_span WHERE phase IN ('read', 'decode', 'data_wait', 'step')")" $((400 * (8 * 2 + 2)))

run "$PP" drain "$T/run.sqlite"
is "drain by hand is refused" "$rc" 2
like "with a word on what to use" "$(cat "$ERR")" "pipeprobe report"
done_testing
