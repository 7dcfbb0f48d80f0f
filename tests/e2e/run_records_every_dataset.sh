#!/bin/bash
# pipeprobe run on every kind of data set: the file opens with sqlite3, the JSON document has its keys, report agrees with run.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe

"$MAKE_DATASET" "$T/images" --n 96 --size 160x120 --classes 4 >/dev/null
"$MAKE_DATASET" "$T/shards" --n 96 --size 160x120 --tar 3 >/dev/null
"$MAKE_DATASET" --tokens "$T/tokens.bin" --n 200000
"$MAKE_DATASET" --tokens "$T/tokens.npy" --n 200000

KEYS="config data_wait_share environment errors losses overhead phases queues samples_per_s schema verdict workers"

run_and_look() { # NAME EXPECTED-PHASES RUN-ARGUMENTS...
    local name=$1 phases=$2 file=$T/$1.sqlite doc=$T/$1.json key
    shift 2
    run timeout 60 "$PP" run "$@" --workers 2 --batch-size 8 --steps 24 --step-ms 2 --json --force -o "$file"
    check "$name: run ends well" test "$rc" -eq 0 -o "$rc" -eq 3 # 3: so short a run may be inconclusive
    cp "$OUT" "$doc"
    check "$name: --json is JSON" json_valid "$doc"
    is "$name: schema" "$(json "$doc" '$.schema')" pipeprobe.report/1
    for key in $KEYS; do
        check "$name: --json has $key" grep -qw "$key" <<<"$(json_keys "$doc" '$')"
    done
    check "$name: the rate is a number above zero" test "$(json "$doc" '$.samples_per_s' | cut -d. -f1)" -gt 0
    check "$name: the verdict has a sentence" test -n "$(json "$doc" '$.verdict.sentence')"
    is "$name: two workers" "$(sql :memory: "SELECT count(*) FROM json_each(CAST(readfile('$doc') AS TEXT), '\$.workers')")" 2
    is "$name: integrity" "$(sql "$file" 'PRAGMA integrity_check')" ok
    is "$name: one ordinary file" "$(sql "$file" 'PRAGMA journal_mode'), $(ls "$file"-* 2>/dev/null | wc -l) beside it" "delete, 0 beside it"
    for key in $phases; do
        check "$name: v_phase_summary has $key" grep -qw "$key" <<<"$(sql "$file" 'SELECT * FROM v_phase_summary')"
    done
    check "$name: spans are plain rows" test "$(sql "$file" 'SELECT count(*) FROM span')" -gt 50
    # Waiting is a phase: a span begins where its thread's last one ended. (What makes an epoch's order is timed alone.)
    is "$name: all time of a worker has a phase" "$(sql "$file" "SELECT count(*) FROM (SELECT phase, start_ns - lag(start_ns + dur_ns) OVER (PARTITION BY thread ORDER BY id) AS gap
        FROM v_span WHERE lane IN ('worker', 'reader') AND kind != 'counter') WHERE gap > 0 AND phase != 'sampler'")" 0
    run timeout 60 "$PP" report "$file" --json
    for key in samples_per_s data_wait_share verdict phases workers queues; do
        is "$name: report agrees on $key" "$(json "$OUT" "\$.$key")" "$(json "$doc" "\$.$key")"
    done
}

run_and_look folder "read decode transform data_wait h2d step" "$T/images"
run_and_look shards "read decode transform data_wait h2d step" "$T/shards/shard-{000000..000002}.tar"
run_and_look streamed "read put_wait decode transform data_wait h2d step" "$T/shards" --stream
run_and_look tokens_bin "read data_wait h2d step" "$T/tokens.bin"
run_and_look tokens_npy "read data_wait h2d step" "$T/tokens.npy"
run_and_look synthetic "read data_wait h2d step" --synthetic n=200

for dtype in f32 f16 u8; do
    transform=rrc:64,hflip
    [ $dtype = u8 ] && transform=$transform,normalize=none
    run timeout 60 "$PP" run "$T/images" --dtype $dtype --transform $transform --steps 4 --batch-size 8 --quiet --force -o "$T/dtype.sqlite"
    check "--dtype $dtype" test "$rc" -eq 0 -o "$rc" -eq 3
done

# For people: the answer on standard output, one screen of it; the phases are in the full report. Nothing but messages on standard error.
run timeout 60 "$PP" run "$T/images" --steps 24 --batch-size 8 --step-ms 2 --force -o "$T/text.sqlite"
for word in samples/s workers INCONCLUSIVE Do: Because: --full "$T/text.sqlite"; do
    like "the summary or its messages speak of $word" "$(cat "$OUT" "$ERR")" "$word"
done
check "no progress line when standard error is no terminal" bash -c "! grep -q \$'\r' '$ERR'"
run timeout 60 "$PP" report "$T/text.sqlite"
check "report on it" test "$rc" -eq 0 -o "$rc" -eq 3
like "report is the same text" "$(cat "$OUT")" "samples/s"

# With no option at all it chooses and says what it chose; only the time is cut here.
cd "$T" || exit 1
run timeout 60 "$PP" run images --duration 2
check "no option needed" test "$rc" -eq 0 -o "$rc" -eq 3
like "it says what it chose: workers" "$(cat "$OUT" "$ERR")" "workers"
like "it says what it chose: batch" "$(cat "$OUT" "$ERR")" "batch"
check "and leaves a file" test -n "$(find "$T" -maxdepth 1 -newer "$T/text.sqlite" -name '*.sqlite')"
done_testing
