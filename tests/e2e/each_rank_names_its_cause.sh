#!/bin/bash
# Four processes as the ranks of one data-parallel run, one of them with slow storage: each names the cause from its own recording. And ranks that die, end, come
# late or belong elsewhere delay no rank.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe

DATA="--synthetic n=4000,size=128x96..192x144 --workers 1 --batch-size 8 --step-ms 30"
pids=()
begin() { # RANK WORLD OPTIONS...: in the background, into $T/RANK.sqlite
    local rank=$1 world=$2
    shift 2
    # shellcheck disable=SC2086
    "$PP" run $DATA --rank "$rank" --world-size "$world" --collective "$T/ranks" -o "$T/$rank.sqlite" --force "$@" >"$T/$rank.out" 2>"$T/$rank.err" </dev/null &
    pids[rank]=$!
}
finish() { # RANK: waits at most 40 s; $rc is how it ended
    for _ in $(seq 400); do kill -0 "${pids[$1]}" 2>/dev/null || break; sleep 0.1; done
    kill -9 "${pids[$1]}" 2>/dev/null && echo "# rank $1 did not end by itself"
    wait "${pids[$1]}" 2>/dev/null
    rc=$?
    echo "rank $1" >"$T/command"
    cp "$T/$1.out" "$OUT" && cp "$T/$1.err" "$ERR"
}

# ---- the slow rank holds the others to its pace

for rank in 0 1 2; do begin $rank 4 --duration 5; done
begin 3 4 --duration 5 --inject read-latency=15ms
for rank in 0 1 2 3; do finish $rank; is "rank $rank: ends by itself" "$rc" 0; done
check "the shared file is gone" test ! -e "$T/ranks"
check "that all end together is no news" bash -c "! grep -q 'goes on\|go on' '$T'/?.err"
for rank in 0 3; do "$PP" report "$T/$rank.sqlite" --json >"$T/$rank.json" 2>/dev/null; done
is "a held rank: class" "$(json "$T/0.json" '$.verdict.l1')/$(json "$T/0.json" '$.verdict.l2')" sync/rank-straggler
like "a held rank: says who" "$(json "$T/0.json" '$.verdict.sentence')" "for other ranks.* rank 3 was last in [0-9.]+ %.* \[SYNC-BOUND \(rank-straggler\)"
holds "a held rank: hardly waits for data" "$(json "$T/0.json" '$.data_wait_share') < 0.2"
holds "a held rank: waits for ranks" "$(json "$T/0.json" '$.collective_share') > 0.3"
is "a held rank: what to mend" "$(json "$T/0.json" '$.verdict.fixes[0].knob')" slow-rank
like "a held rank: what it says of the others" "$(json "$T/0.json" "\$.findings")" "rank 3 was last in"
is "the slow rank: class" "$(json "$T/3.json" '$.verdict.l1')/$(json "$T/3.json" '$.verdict.l2')" storage/latency
like "the slow rank: knows that it is" "$(json "$T/3.json" "\$.findings")" "rank 3 was last in [^\"]*: this rank"
holds "the slow rank: waits for no other rank" "$(json "$T/3.json" '$.collective_share') < 0.1"
holds "both went at one pace" "$(json "$T/0.json" '$.samples_per_s') / $(json "$T/3.json" '$.samples_per_s') < 1.1 && $(json "$T/0.json" '$.samples_per_s') / $(json "$T/3.json" '$.samples_per_s') > 0.9"
run "$PP" whatif "$T/0.sqlite" --set workers=4 --json
holds "a held rank gains nothing from workers" "$(json "$OUT" '$.predictions[0].gain') < 0.03"
run "$PP" whatif "$T/0.sqlite" --set workers=4
like "and says why" "$(cat "$OUT")" "waits [0-9.]+ % of its step time for other ranks"
run "$PP" whatif "$T/0.sqlite" --set collective=0 --json
holds "and much from the slow one mended" "$(json "$OUT" '$.predictions[0].gain') > 0.5"
run "$PP" whatif "$T/3.sqlite" --set storage-latency=0 --json
holds "as the slow one itself does" "$(json "$OUT" '$.predictions[0].gain') > 0.5"
check "the wait is a phase of its own" test "$(sql "$T/0.sqlite" "SELECT count FROM v_phase_summary WHERE phase = 'collective'")" -gt 20

# ---- all of them started at once

# shellcheck disable=SC2086
{
run timeout 60 "$PP" run $DATA --ranks 3 --duration 3 -o "$T/job.sqlite" --json --quiet
is "three ranks at once" "$rc" 0
is "a line on each" "$(json "$OUT" '$.schema') $(json "$OUT" '$.ranks[0].file') $(json "$OUT" '$.ranks[2].rank')" "pipeprobe.ranks/1 $T/job.rank0.sqlite 2"
check "a recording of each" test -s "$T/job.rank0.sqlite" -a -s "$T/job.rank1.sqlite" -a -s "$T/job.rank2.sqlite"
is "of its own part" "$(sql "$T/job.rank2.sqlite" "SELECT group_concat(value) FROM meta WHERE section = 'config' AND key IN ('rank', 'world_size') ORDER BY key")" 2,3
holds "that went together" "$(json "$OUT" '$.collective_steps') > 20"
refuses "a recording that is there" 2 "job.rank0.sqlite already exists" "$PP" run $DATA --ranks 3 --duration 3 -o "$T/job.sqlite" --quiet
mkdir "$T/unnamed" && cd "$T/unnamed" || exit 1
now=$(date +%s)
for s in 0 1 2 3 4 5; do echo taken >"pipeprobe-$(date -d "@$((now + s))" +%Y%m%d-%H%M%S).rank0.sqlite"; done
run timeout 60 "$PP" run $DATA --ranks 2 --duration 2 --json --quiet
is "of the second of another run, unnamed" "$rc" 0
like "both are of one name" "$(json "$OUT" '$.ranks[0].file') $(json "$OUT" '$.ranks[1].file')" '^(pipeprobe-[0-9-]+-2).rank0.sqlite \1.rank1.sqlite$'
cd - >/dev/null || exit 1
refuses "a rank beside all ranks" 2 "--rank is for a single rank" "$PP" run $DATA --ranks 3 --rank 1 --quiet
refuses "all ranks unrecorded" 2 "leave out --no-record" "$PP" run $DATA --ranks 3 --no-record --quiet
refuses "what fails for all ranks is said once" 2 "cannot open" "$PP" run "$T/none" --ranks 3 -o "$T/x.sqlite" --quiet
}

# ---- ranks that die, end, or stop

for rank in 0 1 2; do begin $rank 3 --duration 6; done
sleep 3
kill -KILL "${pids[2]}"
kill -TERM "${pids[1]}"
finish 0
is "one killed, one stopped: the third goes on" "$rc" 0
like "and says of the killed one" "$(cat "$T/0.err")" "rank 2 of 3 died after [0-9,]+ steps?"
like "and of the stopped one" "$(cat "$T/0.err")" "rank 1 of 3 ended after [0-9,]+ steps?"
holds "it went on to the end" "$(sql "$T/0.sqlite" "SELECT value FROM meta WHERE section = 'result' AND key = 'batches'") > 60"
check "the file keeps the note" test "$(sql "$T/0.sqlite" "SELECT count(*) FROM error WHERE kind = 'warning'")" -ge 1
finish 1
is "the stopped one: its code" "$rc" 130
wait "${pids[2]}" 2>/dev/null

# ---- ranks that do not begin, or belong elsewhere

begin 0 2 --steps 60 --collective-limit 1s
finish 0
is "no other rank begins: it goes on alone" "$rc" 0
like "and says so" "$(cat "$T/0.err")" "rank 1 of 2 did not start within 1.00 s; rank 0 continues alone"

begin 0 2 --duration 20
for _ in $(seq 100); do [ -s "$T/ranks" ] && break; sleep 0.1; done
sleep 0.3
# shellcheck disable=SC2086
{
refuses "another world size" 2 "already have --world-size 2" "$PP" run $DATA --rank 1 --world-size 3 --collective "$T/ranks" --no-record --steps 1 --quiet
refuses "a rank twice" 2 "already has this rank in" "$PP" run $DATA --rank 0 --world-size 2 --collective "$T/ranks" --no-record --steps 1 --quiet
kill -TERM "${pids[0]}"
finish 0
is "one that waits for the others can be stopped" "$rc" 130
refuses "a run of one rank" 2 "needs at least 2 ranks" "$PP" run $DATA --collective "$T/ranks" --no-record
refuses "no directory" 2 "none" "$PP" run $DATA --world-size 2 --collective "$T/none/ranks" --no-record
refuses "with --prove" 2 "runs this rank alone" "$PP" run $DATA --world-size 2 --collective "$T/ranks" --prove -o "$T/x.sqlite"
}
done_testing
