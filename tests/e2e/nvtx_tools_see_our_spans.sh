#!/bin/bash
# Our own NVTX ranges: what a tool sees of `pipeprobe run` is what the run recorded. The tools are our own exec, and nsys where it is installed.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
"$PP" doctor >"$T/doctor" 2>&1
grep -q 'NVTX headers.*not there' "$T/doctor" && skip_all "the NVTX v3 headers were not found when this was built"
"$MAKE_DATASET" "$T/images" --n 100 --size 160x120 >/dev/null
RUN=("$PP" run "$T/images" --steps 40 --batch-size 10 --workers 2 --step-ms 1 --quiet --force -o "$T/inner.sqlite")

counts() { # FILE: of the phases that are the same from inside and outside
    sql "$1" "SELECT phase, count(*) FROM v_span WHERE phase IN ('read', 'decode', 'transform', 'collate', 'h2d', 'step') GROUP BY phase ORDER BY phase" | tr '\n' ' '
}

run timeout 60 "$PP" exec --map pipeprobe -f -o "$T/outer.sqlite" -- "${RUN[@]}"
check "run under exec ends well" test "$rc" -eq 0 -o "$rc" -eq 3
is "exec sees the phases that run recorded" "$(counts "$T/outer.sqlite")" "$(counts "$T/inner.sqlite")"
like "as many as there were" "$(counts "$T/outer.sqlite")" "decode\|400 .*step\|40 "
is "payloads are batches" "$(sql "$T/outer.sqlite" "SELECT min(batch), max(batch) FROM v_span WHERE phase = 'step'")" "0|39"
is "threads have their names" "$(sql "$T/outer.sqlite" "SELECT name FROM thread WHERE name LIKE 'pp-%' AND name <> 'pp-trainer' ORDER BY name" | tr '\n' ' ')" "pp-copy pp-worker-0 pp-worker-1 "

importer=/usr/lib/nsight-systems/host-linux-x64/QdstrmImporter
if ! command -v nsys >/dev/null; then skip "nsys profile --trace=nvtx,osrt pipeprobe run" "nsys is not installed"
else
    cd "$T" || exit 1
    # Without CPU sampling: where the kernel's performance counters are missing (virtual machines), nsys 2022.4 hangs in its own shutdown.
    run timeout 120 nsys profile --trace=nvtx,osrt --sample=none --cpuctxsw=none --force-overwrite true -o "$T/nsys" "${RUN[@]}"
    # Debian's nsys does not find its importer and leaves the raw file.
    [ -e nsys.nsys-rep ] || timeout 100 "$importer" -i nsys.qdstrm -o nsys.nsys-rep >/dev/null 2>&1
    rm -f nsys.sqlite
    timeout 100 nsys export --type sqlite -o nsys.sqlite nsys.nsys-rep >/dev/null 2>&1
    range="eventType = 59 AND textId IN (SELECT id FROM StringIds WHERE value = 'decode')"
    is "nsys: every decode, as a registered string" "$(sql nsys.sqlite "SELECT count(*) FROM NVTX_EVENTS WHERE $range")" 400
    is "nsys: one category and one colour" "$(sql nsys.sqlite "SELECT count(DISTINCT category), count(DISTINCT color), category FROM NVTX_EVENTS WHERE $range")" "1|1|4"
    is "nsys: payload = batch" "$(sql nsys.sqlite "SELECT min(uint64Value), max(uint64Value) FROM NVTX_EVENTS WHERE $range")" "0|39"
    is "nsys: the domain" "$(sql nsys.sqlite "SELECT text FROM NVTX_EVENTS WHERE eventType = 75")" pipeprobe
    is "nsys: categories are named" "$(sql nsys.sqlite "SELECT text FROM NVTX_EVENTS WHERE eventType = 33 AND category = 4")" decode
    is "nsys: threads are named" "$(sql nsys.sqlite "SELECT count(*) FROM NVTX_EVENTS WHERE eventType = 39 AND text LIKE 'pp-%'")" 3
    like "nsys stats" "$(timeout 60 nsys stats --report nvtxsum --format csv nsys.sqlite 2>&1)" "PushPop,pipeprobe:decode"
fi
done_testing
