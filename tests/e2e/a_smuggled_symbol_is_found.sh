#!/bin/bash
# quick
# check_links.sh must be able to fail: small houses, compiled, in which a room calls what no arrow leads to, with no include that would tell.
. "$(dirname "$0")/../lib.sh"
command -v nm >/dev/null || skip_all "nm is not installed"
command -v "${CC:-cc}" >/dev/null || skip_all "no ${CC:-cc}"
check=$PWD/tests/check_links.sh

printf 'include/pipeprobe:\nprobe/base:\nprobe/trace: include/pipeprobe probe/base\ncollectors/store: include/pipeprobe\nreport/source: collectors/store/reader.h\ntui/cli: *\n' >"$T/plan"
source() { # FILE LINE...
    mkdir -p "$T/house/$(dirname "$1")"
    printf '%s\n' "${@:2}" >"$T/house/$1"
}
links() { # compiles every source there, then holds the objects against the plan
    local file
    (cd "$T/house" && for file in $(find . -name '*.c' | sed 's|^\./||'); do
        mkdir -p "build/release/$(dirname "$file")"
        "${CC:-cc}" -c -o "build/release/${file%.c}.o" "$file" || exit 1
    done) || { rc=1; return; }
    run bash -c "cd '$T/house' && bash '$check' build/release '$T/plan'"
}
house() {
    rm -rf "$T/house"
    source include/pipeprobe/a.h 'int pp_public(void);'
    source collectors/store/reader.h 'int pp_read(void);'
    source probe/base/err.c 'int pp_err(void) { return 1; }'
    source probe/trace/ring.c 'int pp_err(void);' 'int pp_public(void) { return pp_err(); }'
    source collectors/store/store.c 'int pp_public(void);' 'int pp_read(void) { return pp_public(); }' 'int pp_write(void) { return 2; }'
    source report/source/open.c 'int pp_read(void);' 'int pp_open(void) { return pp_read(); }'
    source tui/cli/main.c 'int pp_open(void); int pp_write(void);' 'int main(void) { return pp_open() + pp_write(); }'
}

house
links
is "arrows to rooms, to one header, to what is public, and the hall that sees all" "$rc: $(cat "$OUT")" "0: 1..1
ok 1 - every symbol that is linked follows the plan of the house"

house
source probe/base/up.c 'int pp_public(void);' 'int pp_up(void) { return pp_public(); }'
links
is "a call against the arrows" "$rc" 1
like "it names both objects and the symbol" "$(cat "$OUT")" "probe/base/up.o takes pp_public from probe/trace/ring.o, and probe/base may use only itself"

house
source report/source/put.c 'int pp_write(void);' 'int pp_put(void) { return pp_write(); }'
links
like "a symbol that the one allowed header does not name" "$(cat "$OUT")" "report/source/put.o takes pp_write from collectors/store/store.o"

house
source probe/base/borrowed.h 'extern int pp_state;'
source probe/trace/state.c 'int pp_state = 3;'
source probe/base/state.c '#include "borrowed.h"' 'int pp_get(void) { return pp_state; }'
links
like "a header that declares what another room defines" "$(cat "$OUT")" "probe/base/state.o takes pp_state from probe/trace/state.o"
rm "$T/house/probe/base/state.c"
run bash -c "cd '$T/house' && bash '$check' build/release '$T/plan'"
is "an object whose source is gone does not count" "$rc" 0

rm -rf "$T/house/build"
run bash -c "cd '$T/house' && bash '$check' build/release '$T/plan'"
is "nothing built is a failure" "$rc" 1
like "that says what to do" "$(cat "$OUT")" "no objects in build/release: build with make"
run bash "$check" "$BUILD" "$T/none"
is "no plan is one too" "$rc" 1
done_testing
