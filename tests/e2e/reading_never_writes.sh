#!/bin/bash
# quick
# Opening a recording never writes: what the reader's objects reach, by the symbols they need, is only what reads. Asked of the objects as built.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
command -v nm >/dev/null || skip_all "nm is not installed"
STORE=$BUILD/collectors/store
WRITES='^(pp_store_|pp_rings_|pp_recording_|pp_checkpoint_|pp_chunk_builder_|pp_rollup_|pp_proof_write|pp_log_vfs|pp_detail_merge|pp_session_(open|adopt|close))'
find "$BUILD"/{probe,collectors,report} -name '*.o' >"$T/objects"
xargs nm -A <"$T/objects" >"$T/symbols"

# reached OBJECT...: every object that these need, by way of others too, with a symbol for which it is needed.
reached() {
    awk -v start="$*" '
        { object = $1; sub(/:[^:]*$/, "", object); kind = $(NF - 1); name = $NF }
        kind ~ /^[TDRBVW]$/ { home[name] = object }
        kind == "U" { needs[object] = needs[object] " " name }
        END {
            n = split(start, queue, " ")
            for (i = 1; i <= n; i++) seen[queue[i]] = 1
            for (i = 1; i <= n; i++) {
                m = split(needs[queue[i]], names, " ")
                for (k = 1; k <= m; k++) if (names[k] in home) {
                    print home[names[k]], names[k], queue[i]
                    if (!(home[names[k]] in seen)) { seen[home[names[k]]] = 1; queue[++n] = home[names[k]] }
                }
            }
        }' "$T/symbols"
}
defines() { nm --defined-only $(cut -d' ' -f1 "$1" | sort -u) | awk 'NF == 3 { print $3 }'; }

reached "$STORE"/reader*.o | sort -u >"$T/reader"
check "the reader's objects are found" grep -q "^$STORE/db\.o " "$T/reader"
is "and need no symbol that writes" "$(cut -d' ' -f2 "$T/reader" | grep -E "$WRITES")" ""
defines "$T/reader" >"$T/defined"
is "nor an object that has one" "$(grep -E "$WRITES" "$T/defined")" ""

# The rooms above it that read: what they open is a reader.
reached "$BUILD"/report/source/*.o "$BUILD"/report/live/*.o "$BUILD"/report/compare/*.o | sort -u >"$T/report"
is "what the reading half reaches writes no recording" "$(cut -d' ' -f2 "$T/report" | grep -E "$WRITES")" ""

# The same question of what does write must find it.
reached "$STORE/recover.o" | sort -u >"$T/recover"
check "recovery is seen to reach the writer" grep -q ' pp_store_create ' "$T/recover"
done_testing
