#!/bin/bash
# quick
# pipeprobe export: every format of a made-up run (tests/tools/make_run.c) whose content is known, where it may go, and what is refused.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
MAKE_RUN=$BUILD/tests/tools/make_run
need_built helpers "$MAKE_RUN"

R=$T/run.sqlite
"$MAKE_RUN" "$R" --batches 50 --lossy || exit 1

# ---- each format, named by --to, under its default name
for to in nsys:run.nsys.sqlite perfetto:run.pftrace chrome:run.trace.json csv:run.csv; do
    run "$PP" export "$R" --to "${to%%:*}"
    is "${to%%:*}: exit code" "$rc" 0
    check "${to%%:*}: the default name is ${to#*:}" test -s "$T/${to#*:}"
    is "${to%%:*}: nothing on standard output" "$(wc -c <"$OUT")" 0
    like "${to%%:*}: says how many" "$(cat "$ERR")" '350 spans to '
    like "${to%%:*}: says what the recording lacks" "$(cat "$ERR")" 'missing in the recording: 12 spans: the ring of pp-worker-1 was full'
done
cp "$R" "$T/damaged.sqlite"
sqlite3 "$T/damaged.sqlite" "UPDATE chunk SET body = zeroblob(length(body)) WHERE id = (SELECT min(id) FROM chunk)"
run "$PP" export "$T/damaged.sqlite" --to csv -o "$T/damaged.csv"
is "a damaged chunk: the others are exported" "$rc" 0
like "and it is said" "$(cat "$ERR")" '^note: 1 chunk of the recording is damaged .checksum.: those spans are missing'
rm -f "$T"/damaged.*
check "nothing temporary is left" test -z "$(ls "$T" | grep partial)"

is "csv: a header and a row per span" "$(wc -l <"$T/run.csv")" 351
is "csv: cells agree with the recording" "$(sqlite3 :memory: ".import --csv '$T/run.csv' s" "SELECT count(*), sum(dur_ns), sum(phase = 'h2d'), sum(bytes), CAST(sum(samples) AS INT), min(start_ns), count(DISTINCT batch) FROM s")" \
    "350|95000000|50|$((50 * 110000 + 50 * 32 * 150528))|3200|1000000000000|50"
is "chrome: a unit is named once" "$(grep -c _ns_ns "$T/run.trace.json")" 0
check "chrome: SQLite reads the JSON" json_valid "$T/run.trace.json"
if command -v python3 >/dev/null; then check "chrome: Python reads the JSON" python3 -m json.tool "$T/run.trace.json"; else skip "chrome: Python reads the JSON" "no python3"; fi
events() { sqlite3 :memory: "SELECT $1 FROM json_each(CAST(readfile('$T/run.trace.json') AS TEXT), '\$.traceEvents') e WHERE json_extract(e.value, '\$.ph') = '$2' ${3:-}"; }
is "chrome: a complete event per span" "$(events 'count(*)' X)" 350
is "chrome: durations in microseconds" "$(events "sum(json_extract(e.value, '\$.dur'))" X)" 95000.0
is "chrome: each batch's flow starts, steps and ends once" "$(events 'count(*)' s) $(events 'count(*)' t) $(events 'count(*)' f)" "50 50 50"
is "chrome: counters" "$(events 'count(*)' C "AND json_extract(e.value, '\$.name') = 'queue_ready_batches'")" 5
is "nsys: a range per span" "$(sql "$T/run.nsys.sqlite" 'SELECT count(*) FROM NVTX_EVENTS WHERE eventType IN (59, 60)')" 350
is "nsys: one ordinary file" "$(sql "$T/run.nsys.sqlite" 'PRAGMA journal_mode; PRAGMA integrity_check' | tr '\n' ' ')" "delete ok "
is "nsys: the host stand-in has no GPU rows" "$(sql "$T/run.nsys.sqlite" "SELECT count(*) FROM sqlite_master WHERE name LIKE 'CUPTI_ACT%'")" 0
check "perfetto: begins with a packet" test "$(head -c 1 "$T/run.pftrace" | od -An -tx1 | tr -d ' ')" = 0a

# ---- named by the output's suffix, or to standard output
run "$PP" export "$R" -o "$T/x.perfetto-trace"
check "the suffix tells the format" cmp "$T/x.perfetto-trace" "$T/run.pftrace"
for to in csv chrome perfetto; do
    run "$PP" export "$R" --to $to -o -
    check "$to on standard output is the same" cmp "$OUT" "$T"/run.$(sed 's/perfetto/pftrace/; s/chrome/trace.json/' <<<$to)
done
run "$PP" export "$R" --to csv -o - --quiet
is "--quiet is quiet" "$(wc -c <"$ERR")" 0

# ---- what is refused
refuses "an output that is there" 2 "run.csv already exists.*--force" "$PP" export "$R" --to csv
echo mine >"$T/mine.csv"
run "$PP" export "$R" -o "$T/mine.csv" --force
is "--force replaces" "$rc $(wc -l <"$T/mine.csv")" "0 351"
refuses "the recording as its own export" 2 "this is the recording itself" "$PP" export "$R" --to nsys -o "$R" --force
is "and it is still whole" "$(sql "$R" 'PRAGMA integrity_check')" ok
refuses "no format" 2 "no format given" "$PP" export "$R"
refuses "a suffix that tells nothing" 2 "the suffix of .* is not a format" "$PP" export "$R" -o "$T/x.txt"
refuses "a format that is not there" 2 "perfeto.*perfetto" "$PP" export "$R" --to perfeto
refuses "nsys under a name nsys would not open" 2 "end in .sqlite" "$PP" export "$R" --to nsys -o "$T/x.db"
refuses "nsys on standard output" 2 "cannot go to standard output" "$PP" export "$R" --to nsys -o -
refuses "no recording" 2 "no recording given" "$PP" export --to csv
refuses "a recording twice" 2 "is named twice" "$PP" export "$R" "$R" --to csv
refuses "a recording that is not there" 2 "nothing.sqlite" "$PP" export "$T/nothing.sqlite" --to csv
refuses "a directory that is not there" 2 "no/x.csv" "$PP" export "$R" -o "$T/no/x.csv"
head -c 5000 "$R" >"$T/cut.sqlite"
refuses "a recording cut short" 4 "cut.sqlite" "$PP" export "$T/cut.sqlite" --to csv -o "$T/cut.csv"
refuses "an nsys export as a recording" 4 "run.nsys.sqlite" "$PP" export "$T/run.nsys.sqlite" --to csv -o "$T/cut.csv"
check "and nothing was written" test ! -e "$T/cut.csv"

# ---- a full disk, a file-size limit
for to in csv chrome perfetto; do
    refuses "$to to a full device" 4 "/dev/full failed: no space" "$PP" export "$R" --to $to -o /dev/full --quiet
done
for to in nsys:x.sqlite csv:x.csv perfetto:x.pftrace; do
    refuses "${to%%:*} over the file-size limit" 4 "${to#*:}.*(file too large|file-size limit)" bash -c "ulimit -f 8; exec '$PP' export '$R' --quiet -o '$T/limited-${to#*:}'"
    check "${to%%:*}: nothing is left of it" test -z "$(ls "$T" | grep -E 'limited|partial')"
done

# ---- overlapping copies, a device, a real run
"$MAKE_RUN" "$T/overlap.sqlite" --batches 20 --overlap --device fake --pageable || exit 1
run "$PP" export "$T/overlap.sqlite" --to nsys
is "copies in flight at once are start/end ranges" "$(sql "$T/overlap.nsys.sqlite" 'SELECT eventType, count(*), min(end - start) FROM NVTX_EVENTS WHERE category = 10 AND textId NOTNULL GROUP BY 1' | tr '\n' ' ')" "59|10|1100000 60|10|1100000 "
is "the device's copies are rows, from pageable memory" "$(sql "$T/overlap.nsys.sqlite" 'SELECT count(*), min(srcKind), max(srcKind) FROM CUPTI_ACTIVITY_KIND_MEMCPY')" "20|0|0"
run timeout 60 "$PP" run --synthetic n=64 --workers 2 --batch-size 8 --steps 8 --step-ms 1 --quiet --force -o "$T/real.sqlite"
if [ "$rc" -eq 0 ] || [ "$rc" -eq 3 ]; then
    for to in nsys perfetto chrome csv; do
        run "$PP" export "$T/real.sqlite" --to $to
        is "a real run as $to" "$rc" 0
    done
    is "every span of it is in the CSV" "$(($(wc -l <"$T/real.csv") - 1))" "$(sql "$T/real.sqlite" 'SELECT count(*) FROM span WHERE phase <> 18')"
    check "its JSON is JSON" json_valid "$T/real.trace.json"
else
    last_run | fail "a real run to export"
fi

# ---- stopped in the middle
"$MAKE_RUN" "$T/long.sqlite" --spans 2000000 || exit 1
"$PP" export "$T/long.sqlite" --to nsys --quiet 2>"$ERR" &
for _ in $(seq 500); do ls "$T"/long.nsys.sqlite.partial-* >/dev/null 2>&1 && break; sleep 0.01; done
kill -INT $!
wait $!
is "an export that is stopped exits with 130" "$?" 130
check "and leaves nothing" test -z "$(ls "$T" | grep long.nsys)"
like "and says so" "$(cat "$ERR")" "interrupted; the partial export was removed"

# ---- the one trap of nsys that we can see
touch "$T/trap.nsys-rep"
run "$PP" export "$R" -o "$T/trap.sqlite"
like "a report beside it would read it" "$(cat "$ERR")" "nsys stats .*trap.nsys-rep' will read the export .*trap.sqlite"
done_testing
