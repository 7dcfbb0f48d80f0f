#!/bin/bash
# idle
# --digest-to: ranks write a digest while they run, so that after the loss of a machine its last minute is there; and it says that there was no end.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
cd "$T" || exit 1
pids=() MEET=meet1
cleanup() { [ -z "${pids[*]}" ] || kill -9 "${pids[@]}" 2>/dev/null; rm -rf "$T"; }

begin() { # RANK OPTIONS...: in the background
    local rank=$1
    shift
    RANK=$rank WORLD_SIZE=2 LOCAL_RANK=$rank TORCHELASTIC_RUN_ID=job "$PP" run --synthetic n=4000,size=64x48 --workers 1 --batch-size 8 --step-ms 20 --warmup 5 \
        --steps 4000 --collective "$T/$MEET" --collective-limit=60s -o "local$rank/" --digest-to shared --digest-every 200ms "$@" >"$rank.out" 2>"$rank.err" </dev/null &
    pids[rank]=$!
}
writer_of() { ps -o pid= --ppid "$1" | tr -d ' '; } # the process beside a run
compared() { "$PP" ranks "$1" --json 2>/dev/null | tr -d ' ,"' | sed -n 's/^compared_steps://p'; }

begin 0
begin 1 --inject read-latency=15ms
for _ in $(seq 450); do [ "$(compared shared || echo 0)" -ge 40 ] 2>/dev/null && break; sleep 0.1; done
is "each rank has a digest, called as its recording" "$(ls shared)" "$(printf 'job-rank000%d.digest\n' 0 1)"
run "$PP" ranks shared --json
is "while they run, the slow one is named from the digests" "$rc $(json "$OUT" '$.kind') $(json "$OUT" '$.straggler_rank')" "0 rank-straggler 1"
is "what it spends its time on is known" "$(json "$OUT" '$.cause') $(json "$OUT" '$.input_cause')" "data_wait read"
like "they have no end yet" "$(json "$OUT" '$.no_end')" "^ranks 0-1: no end, last digest 20[0-9-]+ [0-9:]+ UTC$"
is "which their rows say" "$(json "$OUT" '$.ranks[0].running') $(json "$OUT" '$.ranks[1].outcome')" "1 "
for _ in $(seq 600); do [ -n "$(compared shared)" ] && [ "$(compared shared)" -ge 60 ] && break; sleep 0.1; done
"$PP" ranks shared --json >clocks.json 2>/dev/null
holds "clocks are held against each other" "$(json clocks.json '$.clock_error_ns') > 0"

# ---- the machine of rank 1 is lost: its recorder, what writes its digest, and its disk
kill -9 "$(writer_of "${pids[1]}")" "${pids[1]}"
wait "${pids[1]}" 2>/dev/null
rm -rf local1
kill -INT "${pids[0]}"
wait "${pids[0]}"
pids=()
is "no half of a file is left" "$(ls -A shared)" "$(printf 'job-rank000%d.digest\n' 0 1)"
run "$PP" ranks shared --json
is "the lost rank is compared up to its last digest" "$rc $(json "$OUT" '$.straggler_rank') $(json "$OUT" '$.missing_ranks')" "0 1 0"
holds "with the steps that it had then" "$(json "$OUT" '$.compared_steps') >= 60"
is "the other one has its end, and its verdict" "$(json "$OUT" '$.ranks[0].outcome') $(json "$OUT" '$.ranks[0].l0 IS NOT NULL')" "interrupted "
like "the lost one has none" "$(json "$OUT" '$.no_end')" "^rank 1: no end, last digest 20[0-9-]+ [0-9:]+ UTC$"
like "as the text says" "$("$PP" ranks shared)" "no end +rank 1: no end, last digest"
like "the rank that ended says where its digest is" "$(cat 0.err)" "digest +the digest of the ranks here is shared/job-rank0000.digest"
run "$PP" merge "$T/local0" -o after.digest
check "which is that of its complete recording" cmp after.digest shared/job-rank0000.digest

# ---- one that is killed while its recorder's machine lives
MEET=meet2
rm -rf local0 shared
begin 0
begin 1
mkdir -p local0 local1
"$PP" merge local0 local1 -o followed.digest --every 200ms >follow.out 2>follow.err &
follower=$!
for _ in $(seq 450); do [ "$(compared followed.digest || echo 0)" -ge 20 ] 2>/dev/null && break; sleep 0.1; done
holds "merge --every follows recordings" "$(compared followed.digest) >= 20"
kill -9 "${pids[1]}"
wait "${pids[1]}" 2>/dev/null
kill -INT "${pids[0]}"
wait "${pids[0]}"
pids=()
wait $follower
is "until all have ended" "$?" 0
run "$PP" ranks followed.digest --json
is "the killed one was recovered" "$(json "$OUT" '$.ranks[1].outcome') $(json "$OUT" '$.ranks[1].running') $(json "$OUT" '$.no_end')" " 0 "
like "and is called killed" "$(json "$OUT" '$.note')" "killed before it was done: rank 1;"
for _ in $(seq 300); do "$PP" ranks shared --json 2>/dev/null | grep -q '"no_end": null' && break; sleep 0.1; done
"$PP" ranks shared --json >ended.json 2>/dev/null
is "its own digest says so too" "$(json ended.json '$.no_end') $(json ended.json '$.ranks[1].running')" " 0"
"$PP" merge local0 local1 -o at_the_end.digest
check "the last digest is that of the complete recordings" cmp followed.digest at_the_end.digest

# ---- files that are there before there is anything in them, and one that never has anything
mkdir begins && touch begins/a.sqlite begins/b.sqlite
"$PP" merge begins -o begun.digest --every 100ms >begins.out 2>begins.err &
follower=$!
sleep 1
check "merge --every waits for a recording that has just begun" kill -0 $follower
cp local0/*.sqlite begins/a.sqlite
wait $follower
is "it ends with the one that was recorded" "$? $("$PP" ranks begun.digest --json 2>/dev/null | tr -d ' ,' | sed -n 's/^"compared_steps"://p')" "0 $("$PP" ranks local0 --json | tr -d ' ,' | sed -n 's/^"compared_steps"://p')"
like "and says what it left out" "$(cat begins.err)" "left out +begins/b.sqlite is empty|left out +.*begins/b.sqlite"

# ---- in one directory with the recordings; what does not fit
mkdir both && cp local0/*.sqlite local1/*.sqlite shared/*.digest both
run "$PP" ranks both --json
is "a digest of recordings that are there is left out" "$rc $(json "$OUT" '$.ranks[1].rank')" "0 1"
like "which is said" "$(cat "$ERR")" "left out +both/job-rank0000.digest is of ranks whose recordings are here"
mkdir half mixed && cp shared/*.digest half && cp shared/*.digest mixed && head -c 200 shared/job-rank0001.digest >half/job-rank0001.digest
run "$PP" ranks half
like "a digest that was half copied is left out" "$(cat "$ERR")" "left out +half/job-rank0001.digest is damaged or half-written"
like "and its rank is missing" "$(cat "$OUT")" "missing +rank 1 of 2"
RANK=1 WORLD_SIZE=2 TORCHELASTIC_RUN_ID=other run "$PP" run --synthetic n=400,size=32x32 --steps 20 --workers 1 -o other/ --digest-to mixed -q
refuses "digests of two jobs" 2 "mixed/job-rank0001.digest is of job job and mixed/other-rank0001.digest of job other|mixed/.*digest is of job [a-z]+ and mixed/.*digest of job" \
    "$PP" ranks mixed
refuses "a run that is no rank" 2 "--digest-to is for the ranks of a job" "$PP" run --synthetic n=100 --steps 5 --digest-to shared -o x.sqlite -q
mkdir taken && echo mine >taken/x-rank0000.digest
RANK=0 WORLD_SIZE=2 run "$PP" run --synthetic n=400,size=32x32 --steps 20 --workers 1 --digest-to taken -o x.sqlite -q
like "a file that is no digest is not replaced" "$(cat taken/x-rank0000.digest) $(cat "$ERR")" "^mine digest +cannot write the digest: taken/x-rank0000.digest exists"
RANK=0 WORLD_SIZE=2 run "$PP" run --synthetic n=400,size=32x32 --steps 20 --workers 1 --digest-to nowhere/deep -o y.sqlite -q
like "a directory that cannot be made ends no run" "$rc $(cat "$ERR")" "^[03] digest +no digest in nowhere/deep: No such file"
RANK=1 WORLD_SIZE=2 run "$PP" exec -o z.sqlite --digest-to of_exec -- true
like "exec of a rank writes one" "$rc $(cat "$ERR")" "^0 .*the digest of the ranks here is of_exec/z-rank0001.digest"
run "$PP" exec -o w.sqlite --digest-to of_exec -- true
is "without a rank there is none, which is no failure" "$rc" 0
like "and it is said" "$(cat "$ERR")" "no rank was recorded, so that there is no digest of_exec/"
is "and nothing is written" "$(ls of_exec)" z-rank0001.digest
done_testing
