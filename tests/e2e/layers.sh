#!/bin/bash
# quick
# The plan of the house must be able to fail: small houses with one forbidden include each.
. "$(dirname "$0")/../lib.sh"

house() {
    rm -rf "$T/house"
    mkdir -p "$T"/house/{include/pipeprobe,probe/base,probe/trace,probe/loader,collectors/store,report,tui/cli}
    echo '#define PP_A 1' >"$T/house/include/pipeprobe/a.h"
    touch "$T"/house/probe/{base/err.h,trace/trace.h,loader/loader.h} "$T"/house/collectors/{drain.h,store/reader.h,store/writer.h} "$T/house/report/model.h"
}
plan() { run bash tests/check_layers.sh "$T/house"; }
forbidden() { # FILE INCLUDE
    house
    printf '/* one */\n#include %s\n' "$2" >"$T/house/$1"
    plan
    is "$1 must not include $2" "$rc" 1
    like "and the line is named" "$(cat "$OUT")" "$1:2: "
}
allowed() {
    house
    printf '#include %s\n' "$2" >"$T/house/$1"
    plan
    is "$1 may include $2" "$rc" 0
}

allowed report/classify.c '"collectors/store/reader.h"'
allowed report/classify.c '"model.h"'
allowed probe/loader/worker.c '"probe/trace/trace.h"'
allowed tui/cli/run.c '"probe/loader/loader.h"'
allowed collectors/store/sql.c '<sqlite3.h>'
forbidden probe/base/err.c '"probe/trace/trace.h"'
forbidden probe/trace/ring.c '"collectors/drain.h"'
forbidden probe/loader/worker.c '"report/model.h"'
forbidden collectors/store/writer.c '"probe/loader/loader.h"'
forbidden report/classify.c '"collectors/store/writer.h"'
forbidden report/classify.c '"probe/loader/loader.h"'
forbidden report/classify.c '"../probe/loader/loader.h"'
forbidden report/classify.c '<sqlite3.h>'
forbidden include/pipeprobe/b.h '"probe/base/err.h"'

house
mkdir -p "$T/house/probe/attic"
echo '#include <pipeprobe/a.h>' >"$T/house/probe/attic/x.c"
plan
is "a folder that is in no plan" "$rc" 1

house
echo 'static inline size_t f(void) { return 0; }' >"$T/house/include/pipeprobe/b.h"
plan
is "a public header that needs another before it" "$rc" 1
like "and it is named" "$(cat "$OUT")" "b.h"
done_testing
