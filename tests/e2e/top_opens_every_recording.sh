#!/bin/bash
# idle
# What pipeprobe top can open: a run that goes on or was killed, by a user who may only read it; runs of other programs, recorded through NVTX and through the
# C API; a run that kept sums only. Every view of each.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
CLIENT=$PWD/$BUILD/tests/tools/nvtx_client
need_built helpers "$CLIENT"
cleanup() { [ -z "${pid:-}" ] || kill -9 "$pid" 2>/dev/null; rm -rf "$T"; }

views="overview stages workers batch lines errors events environment what-if"
all_views() { # NAME FILE: each has its footer, and nothing of it is said on standard error
    local view bad=
    for view in $views; do
        run timeout 60 "$PP" top "$2" --once --size 80x24 --view "$view"
        [ "$rc" = 0 ] && [ ! -s "$ERR" ] && grep -q "^$view  " "$OUT" || bad="$bad $view"
    done
    is "$1: every view has its screen" "$bad" ""
}
show() { timeout 60 "$PP" top "$1" --once --size 100x30 --view "$2"; }

"$MAKE_DATASET" "$T/images" --n 64 --size 160x120 >/dev/null
run timeout 60 "$PP" run "$T/images" --workers 2 --batch-size 8 --step-ms 10 --duration 4 --detail rollup -o "$T/sums.sqlite" --quiet
all_views "sums only" "$T/sums.sqlite"
like "sums only: the pipeline is there" "$(show "$T/sums.sqlite" overview)" '^decode .*/s'
like "sums only: the batch view says what was not recorded" "$(show "$T/sums.sqlite" batch)" 'not recorded: --detail rollup'

run timeout 60 "$PP" exec --map pytorch -o "$T/train.sqlite" -- "$CLIENT" names train=450
is "exec: it ran" "$rc" 0
all_views "exec" "$T/train.sqlite"
like "exec: it has ended" "$(show "$T/train.sqlite" overview)" 'ENDED finished'
like "exec: the pipeline" "$(show "$T/train.sqlite" overview)" '^step .*/s'

run timeout 60 "$BUILD/samples/c_loader" "$T/client.sqlite"
is "a program with libpipeprobe ran" "$rc" 0
all_views "libpipeprobe" "$T/client.sqlite"
like "libpipeprobe: the pipeline" "$(show "$T/client.sqlite" overview)" '^decode .*/s'
check "libpipeprobe: its file is there" bash -c "! '$PP' top '$T/client.sqlite' --once | grep -q 'file deleted'"

# ---- a directory: its newest recording, whatever other databases are newer ----
mkdir "$T/dir"
sqlite3 "$T/dir/foreign.sqlite" 'CREATE TABLE t(x)'
refuses "a directory of other databases" 2 "no recording in .*dir: of its 1 \.sqlite file none was written by 'pipeprobe run'" "$PP" top "$T/dir" --once
cp "$T/client.sqlite" "$T/dir/a.sqlite"
touch -d '1 hour ago' "$T/dir/a.sqlite"
cp "$T/train.sqlite" "$T/dir/b.sqlite"
touch -d '2 hours ago' "$T/dir/b.sqlite"
echo "no database" >"$T/dir/text.sqlite"
mkfifo "$T/dir/pipe.sqlite"
ln -s nowhere "$T/dir/link.sqlite"
run timeout 60 "$PP" top "$T/dir" --once --size 140x30
is "a directory: exit code" "$rc" 0
like "a directory: its newest recording" "$(cat "$OUT")" 'a\.sqlite'

# ---- another user's run ----
nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups env HOME=/nonexistent)
as_nobody() { "${nobody[@]}" "$@"; }
if [ "$(id -u)" != 0 ] || ! as_nobody test -x "$PP"; then
    skip "another user" "only root can become another user, who has to be able to run $PP"
    done_testing
fi
mkdir "$T/shared"
chmod 755 "$T" "$T/shared"
"$PP" run "$T/images" --workers 2 --batch-size 8 --step-ms 20 --duration 120 -o "$T/shared/run.sqlite" --quiet >/dev/null 2>&1 </dev/null &
pid=$!
for _ in $(seq 300); do as_nobody "$PP" top "$T/shared/run.sqlite" --once 2>/dev/null | grep -q '^decode .*/s' && break; sleep 0.2; done
before=$(ls "$T/shared")
run "${nobody[@]}" timeout 60 "$PP" top "$T/shared/run.sqlite" --once --size 80x24
is "another user, a run that goes on" "$rc" 0
like "another user: it is live" "$(cat "$OUT")" '^ (LIVE|STALE)'
like "another user: with its numbers" "$(cat "$OUT")" '^decode .*/s'
is "another user leaves nothing behind" "$(ls "$T/shared")" "$before"
as_nobody timeout 60 "$PP" top "$T/shared/run.sqlite" --line --interval 1s >"$T/lines" 2>&1 &
watcher=$!
for _ in $(seq 100); do [ "$(grep -c LIVE "$T/lines")" -ge 2 ] && break; sleep 0.2; done
kill -9 "$pid"
{ wait "$pid"; } 2>/dev/null
pid=
wait "$watcher"
is "another user sees it end" "$?" 0
like "another user: how it ended" "$(tail -n 1 "$T/lines")" '^ENDED killed .*samples/s'
run "${nobody[@]}" timeout 60 "$PP" top "$T/shared/run.sqlite" --once --size 80x24
like "another user, afterwards: what was committed is there" "$(cat "$OUT")" '^decode .*/s'
chmod 600 "$T"/shared/run.sqlite*
refuses "a file that is not to be read" 4 "run.sqlite.*[Pp]ermission" "${nobody[@]}" "$PP" top "$T/shared/run.sqlite" --once
done_testing
