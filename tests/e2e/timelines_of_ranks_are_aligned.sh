#!/bin/bash
# export A B: ranks whose clocks differ stand in one timeline, on the clock of the first. The second rank runs in a time namespace of its own, 1000 s ahead.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe

STEPS=120
rank() { # NUMBER COMMAND...: in the background
    local r=$1
    shift
    "$@" "$PP" run --synthetic n=4000,size=32x32 --rank "$r" --world-size 2 --collective "$T/meet" --steps $STEPS --step sleep:5ms --batch-size 4 \
        --workers 1 --transform rrc:16 --device host -q -o "$T/r$r.sqlite" >"$T/$r.out" 2>"$T/$r.err" </dev/null &
}
apart=1000
unshare --time --monotonic $apart --fork true 2>/dev/null || apart=0
rank 0; first=$!
if [ $apart -gt 0 ]; then rank 1 unshare --time --monotonic $apart --fork; else rank 1; fi
wait $first; codes=$?
wait $!; codes="$codes $?"
like "both ranks end well" "$codes" '^[03] [03]$'

run "$PP" export "$T/r0.sqlite" "$T/r1.sqlite" --to chrome -o "$T/job.json"
is "several recordings are exported" "$rc" 0
like "and the clock's error is said" "$(cat "$ERR")" 'clock +rank 1: aligned with rank 0 by [0-9]+ collective steps, error [0-9.]+ [mun]?s'
check "the timeline is JSON" json_valid "$T/job.json"
event() { sqlite3 :memory: "WITH e AS (SELECT value AS v FROM json_each(CAST(readfile('$T/job.json') AS TEXT), '\$.traceEvents')) $1"; }
is "processes are apart" "$(event "SELECT count(DISTINCT json_extract(v, '\$.pid')) FROM e WHERE json_extract(v, '\$.ph') = 'X'")" 2
is "threads say their rank" "$(event "SELECT count(*) FROM e WHERE json_extract(v, '\$.args.name') IN ('rank 0 pp-trainer', 'rank 1 pp-trainer')")" 2
spans() { event "SELECT count(*) FROM e WHERE json_extract(v, '\$.ph') = 'X'"; }
own=0
for r in 0 1; do
    "$PP" export "$T/r$r.sqlite" --to csv -o "$T/$r.csv" -q
    own=$((own + $(grep -cv '^thread,\|,counter,' "$T/$r.csv")))
done
is "no span is missing" "$(spans)" "$own"
is "the error is stored" "$(sqlite3 :memory: "SELECT json_extract(CAST(readfile('$T/job.json') AS TEXT), '\$.otherData.\"run.rank 1.clock_error_ns\"') > 0")" 1
# Ends of the same collective, in ms; half of them are compared.
median=$(event "SELECT abs(a.t - b.t) / 1000 FROM
    (SELECT json_extract(v, '\$.args.batch') AS n, json_extract(v, '\$.ts') + json_extract(v, '\$.dur') AS t, json_extract(v, '\$.pid') AS p FROM e WHERE json_extract(v, '\$.name') = 'collective') a
    JOIN (SELECT json_extract(v, '\$.args.batch') AS n, json_extract(v, '\$.ts') + json_extract(v, '\$.dur') AS t, json_extract(v, '\$.pid') AS p FROM e WHERE json_extract(v, '\$.name') = 'collective') b
    ON a.n = b.n AND a.p < b.p ORDER BY 1 LIMIT 1 OFFSET $((STEPS / 2))")
if [ $apart -gt 0 ]; then
    holds "collectives end together, though the clocks are $apart s apart (median $median ms)" "$median < $apart * 10"
else
    skip "collectives end together, though the clocks are apart" "no time namespace can be made here"
fi
run "$PP" export "$T/r0.sqlite" "$T/r1.sqlite" --to perfetto -o "$T/job.pftrace" -q
is "perfetto takes several too" "$rc" 0
run "$PP" export "$T/r0.sqlite" "$T/r1.sqlite" --to nsys -o "$T/job.nsys.sqlite" -q
is "and nsys" "$rc" 0
is "with both trainers" "$(sql "$T/job.nsys.sqlite" "SELECT count(*) FROM StringIds WHERE value LIKE 'rank _ pp-trainer'")" 2
refuses "metrics of several" 2 "metrics are of one recording" "$PP" export "$T/r0.sqlite" "$T/r1.sqlite" --to prometheus
refuses "one that is missing" 2 "nowhere" "$PP" export "$T/r0.sqlite" "$T/nowhere.sqlite" --to chrome -o "$T/x.json"
check "and nothing is left" test ! -e "$T/x.json"
done_testing
