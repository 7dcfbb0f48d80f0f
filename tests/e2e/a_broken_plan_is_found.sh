#!/bin/bash
# The plan of the house must be able to fail: small houses with one forbidden include each, held against the real plan; and small plans.
. "$(dirname "$0")/../lib.sh"

house() {
    rm -rf "$T/house"
    mkdir -p "$T"/house/{include/pipeprobe,probe/{base,trace,loader},collectors/{record,store},report/{model,measure,source},tui/cli/run}
    echo '#define PP_A 1' >"$T/house/include/pipeprobe/a.h"
    touch "$T"/house/probe/{base/err.h,trace/trace.h,loader/loader.h} "$T"/house/collectors/{record/drain.h,store/reader.h,store/writer.h} \
        "$T"/house/report/{model/model.h,source/source.h}
}
plan() { run bash tests/check_layers.sh "$T/house" "$@"; }
forbidden() { # FILE INCLUDE
    house
    printf '/* one */\n#include %s\n' "$2" >"$T/house/$1"
    plan
    like "$1 must not include $2" "$(cat "$OUT")" "^not ok 1 "
    like "and the line is named" "$(cat "$OUT")" "$1:2: "
}
allowed() {
    house
    printf '#include %s\n' "$2" >"$T/house/$1"
    plan
    like "$1 may include $2" "$(cat "$OUT")" "^ok 1 "
}

allowed report/source/classify.c '"collectors/store/reader.h"'
allowed report/source/classify.c '"source.h"'
allowed probe/loader/worker.c '"probe/trace/trace.h"'
allowed tui/cli/run/run.c '"probe/loader/loader.h"'
allowed collectors/store/sql.c '<sqlite3.h>'
forbidden probe/base/err.c '"probe/trace/trace.h"'
forbidden probe/trace/ring.c '"collectors/record/drain.h"'
forbidden probe/loader/worker.c '"report/model/model.h"'
forbidden collectors/store/writer.c '"probe/loader/loader.h"'
forbidden report/source/classify.c '"collectors/store/writer.h"'
forbidden report/measure/classify.c '"collectors/store/reader.h"'
forbidden report/measure/classify.c '"probe/loader/loader.h"'
forbidden report/measure/classify.c '"../../probe/loader/loader.h"'
forbidden report/measure/classify.c '<sqlite3.h>'
forbidden include/pipeprobe/b.h '"probe/base/err.h"'

house
mkdir -p "$T/house/probe/attic" "$T/house/probe/loader/inner"
echo '#include <pipeprobe/a.h>' | tee "$T/house/probe/attic/x.c" >"$T/house/probe/loader/inner/x.c"
plan
like "a folder that is in no plan" "$(cat "$OUT")" "probe/attic/x.c:1: .*no room"
like "nor a folder inside a room" "$(cat "$OUT")" "probe/loader/inner/x.c:1: .*no room"

house
echo 'static inline size_t f(void) { return 0; }' >"$T/house/include/pipeprobe/b.h"
plan
is "a public header that needs another before it" "$rc" 1
like "and it is named" "$(cat "$OUT")" "b.h"

# A plan of three rooms whose arrows are all used.
house
printf 'include/pipeprobe:\nprobe/base: include/pipeprobe\nprobe/trace: probe/base\nprobe/loader: probe/trace\n' >"$T/small"
echo '#include <pipeprobe/a.h>' >"$T/house/probe/base/err.c"
echo '#include "probe/base/err.h"' >"$T/house/probe/trace/trace.c"
echo '#include "probe/trace/trace.h"' >"$T/house/probe/loader/loader.c"
plan "$T/small"
is "a plan that is followed" "$rc" 0
sed 's|^probe/loader:|& probe/base|' "$T/small" >"$T/wide"
plan "$T/wide"
is "an arrow that no include follows" "$rc" 1
like "is named" "$(cat "$OUT")" "probe/loader: nothing there includes probe/base"
sed 's|^probe/base:|& probe/loader|' "$T/small" >"$T/round"
echo '#include "probe/loader/loader.h"' >>"$T/house/probe/base/err.c"
plan "$T/round"
is "rooms that include each other by way of a third" "$rc" 1
like "are named with the way" "$(cat "$OUT")" "probe/base -> probe/loader -> probe/trace -> probe/base"
done_testing
