#!/bin/bash
# make dist: the sources of HEAD as an archive, the same bytes twice; it knows its commit and what there is to build without git and without a network.
. "$(dirname "$0")/../lib.sh"
git rev-parse HEAD >/dev/null 2>&1 || skip_all "this is no git checkout"
quiet_make() { env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s "$@"; }
run quiet_make dist DIST="$T/a"
is "make dist" "$rc" 0
quiet_make dist DIST="$T/b" >/dev/null
archive=$(ls "$T"/a/*.tar.gz)
check "the same commit gives the same bytes" cmp "$archive" "$T/b/${archive##*/}"
holds "it has 12 MB at most" "$(stat -c %s "$archive") < 12000000"
tar -C "$T" -xzf "$archive"
cd "$T"/pipeprobe-*/ || exit 1
export GIT_CEILING_DIRECTORIES=$T
like "it knows its commit" "$(cat mk/commit)" "^[0-9a-f]{7,}$"
run quiet_make -n all
is "make knows what to build" "$rc $(grep -c Format "$OUT")" "0 0"
run quiet_make build/release/tui/cli/main.o
check "and the commit is in what it builds" grep -q "$(cat mk/commit)" build/release/tui/cli/main.o
done_testing
