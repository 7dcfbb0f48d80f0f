#!/bin/bash
# Ranks that record themselves under a launcher's environment, a file each without naming any: the slow one is named, with the reason; among equal ones
# none is. And what cannot be compared is refused with a sentence.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
HERE=$PWD
cd "$T" || exit 1

pids=()
# ranks JOB WORLD SLOW OPTIONS...: runs ranks 0 .. WORLD - 1 (LEFT_OUT not); SLOW has slow storage.
ranks() {
    local job=$1 world=$2 slow=$3 fault rank
    shift 3
    for ((rank = 0; rank < world; rank++)); do
        [ "$rank" = "${LEFT_OUT:-none}" ] && continue
        fault=
        [ "$rank" = "$slow" ] && fault="--inject read-latency=15ms"
        # shellcheck disable=SC2086
        RANK=$rank WORLD_SIZE=$world LOCAL_RANK=$rank TORCHELASTIC_RUN_ID=$job timeout 100 "$PP" run --synthetic n=4000,size=64x48 --workers 1 --batch-size 8 \
            --step-ms 30 --steps 60 --warmup 5 --collective "$T/meet-$job" --collective-limit=20s $fault "$@" >"$T/$job-$rank.out" 2>"$T/$job-$rank.err" </dev/null &
        pids[rank]=$!
    done
    wait "${pids[@]}"
    pids=()
}

ranks slow 3 2
is "a file per rank" "$(ls pipeprobe-slow)" "$(printf 'rank000%d.sqlite\n' 0 1 2)"
like "the start block says the rank" "$(cat slow-1.err)" "rank +1 of 3, from the environment of torchrun"
is "who it is is in the file" "$(sql pipeprobe-slow/rank0001.sqlite "SELECT group_concat(key || '=' || value, ' ') FROM (SELECT * FROM meta WHERE section = 'rank' ORDER BY key)" | sed 's/\.0//g')" \
    "job=slow launcher=torchrun local_rank=1 rank=1 world_size=3"
run env PIPEPROBE_GPU_HOUR=3 "$PP" ranks pipeprobe-slow --json
holds "the wait for the last rank costs its share of 24 hours of all ranks" "$(json "$OUT" '$.lost_cost_per_day') > 0 && $(json "$OUT" '$.lost_cost_per_day') / (72 * $(json "$OUT" '$.lost_rank_s') / ($(json "$OUT" '$.compared_steps') * $(json "$OUT" '$.step_ns') / 1e9)) - 1 < 0.001"
run "$PP" ranks pipeprobe-slow --gpu-hour 3 --html "$T/cost.html"
like "in the text" "$(cat "$OUT")" "cost .* a day at 3 an hour"
like "and on the page" "$(cat "$T/cost.html")" "the wait for the last rank: .* a day at 3 an hour"
run "$PP" ranks pipeprobe-slow --json
is "the slow rank is named" "$rc $(json "$OUT" '$.kind') $(json "$OUT" '$.straggler_rank')" "0 rank-straggler 2"
is "and what it spends its time on" "$(json "$OUT" '$.cause') $(json "$OUT" '$.input_cause')" "data_wait read"
holds "it was last in most steps" "$(json "$OUT" '$.last_share') > 0.66"
holds "the others lose more than their own step by it" "$(json "$OUT" '$.lost_ns') > $(json "$OUT" '$.ranks[0].own_ns')"
is "none is missing" "$(json "$OUT" '$.missing')" ""
is "by number" "$(json "$OUT" '$.ranks[0].rank') $(json "$OUT" '$.ranks[1].rank') $(json "$OUT" '$.ranks[2].rank')" "0 1 2"
run "$PP" ranks pipeprobe-slow/rank0002.sqlite pipeprobe-slow/rank0000.sqlite pipeprobe-slow/rank0001.sqlite
like "files in any order, as text" "$(cat "$OUT")" "^Rank 2 .* is the straggler"
like "with its own verdict" "$(cat "$OUT")" "^verdict .*\[STORAGE-BOUND"
like "and what to look at" "$(cat "$OUT")" "^next +pipeprobe report pipeprobe-slow/rank0002.sqlite"

ranks even 3 none
run "$PP" ranks pipeprobe-even --json
is "equal ranks: none is named" "$rc $(json "$OUT" '$.straggler_rank')" "0 "
is "all steps after warm-up are compared" "$(json "$OUT" '$.compared_steps')" "$(json "$OUT" '$.ranks[0].steps')"

# ---- a rank that is killed

for rank in 0 1; do
    RANK=$rank WORLD_SIZE=2 TORCHELASTIC_RUN_ID=kill "$PP" run --synthetic n=4000,size=64x48 --workers 1 --batch-size 8 --step-ms 20 --steps 4000 --warmup 5 \
        --collective "$T/meet-kill" --collective-limit=20s >"kill-$rank.out" 2>"kill-$rank.err" </dev/null &
    pids[rank]=$!
done
for _ in $(seq 600); do # until it has 60 steps in its file, which a look at it must not make
    [ "$(sqlite3 -readonly pipeprobe-kill/rank0001.sqlite "SELECT count(DISTINCT batch) > 60 FROM rollup_batch" 2>/dev/null)" = 1 ] && break
    sleep 0.1
done
kill -KILL "${pids[1]}"
wait "${pids[1]}" 2>/dev/null
kill -INT "${pids[0]}"
wait "${pids[0]}"
pids=()
run "$PP" ranks pipeprobe-kill --json
is "a killed rank is recovered and compared" "$rc $(json "$OUT" '$.ranks[0].outcome') $(json "$OUT" '$.ranks[1].outcome') $(json "$OUT" '$.missing_ranks')" "0 interrupted  0"
holds "up to where it came" "$(json "$OUT" '$.compared_steps') >= 20 && $(json "$OUT" '$.compared_steps') <= $(json "$OUT" '$.ranks[1].steps')"
like "which the note says, and what looks the same" "$(json "$OUT" '$.note')" "killed before it was done: rank 1;.*; a recording that was copied while it was written looks the same"

# ---- names

RANK=1 WORLD_SIZE=2 run timeout 60 "$PP" run --synthetic n=100,size=64x48 --steps 5 -o out/ --quiet
RANK=0 WORLD_SIZE=2 PMIX_NAMESPACE=x SLURM_JOB_ID=9 run timeout 60 "$PP" run --synthetic n=100,size=64x48 --steps 5 -o out --quiet
RANK=0 WORLD_SIZE=2 run timeout 60 "$PP" run --synthetic n=100,size=64x48 --steps 5 -o out/a.sqlite --quiet
is "in a directory, beside a name" "$(ls out)" "$(printf '%s\n' 9-rank0000.sqlite a-rank0000.sqlite rank0001.sqlite)"
RANK=0 WORLD_SIZE=2 refuses "a name that is taken" 2 "out/a-rank0000.sqlite already exists" "$PP" run --synthetic n=100 --steps 5 -o out/a.sqlite --quiet
RANK=1 WORLD_SIZE=2 run timeout 60 "$PP" run --synthetic n=100,size=64x48 --steps 5 --rank 0 --world-size 1 -o out/b.sqlite --quiet
check "an option overrides the launcher" test -s out/b.sqlite
before=$(cksum <out/9-rank0000.sqlite)
RANK=0 WORLD_SIZE=2 SLURM_JOB_ID=9 run timeout 60 "$PP" run --synthetic n=100,size=64x48 --steps 5 -o out --quiet
is "the same rank again replaces nothing" "$(cksum <out/9-rank0000.sqlite) $(ls out | grep -c '^9-rank0000')" "$before 2"
RANK=0 WORLD_SIZE=2 TORCHELASTIC_RUN_ID='../a b/c' TORCHELASTIC_RESTART_COUNT=2 run timeout 60 "$PP" run --synthetic n=100,size=64x48 --steps 5 --quiet
check "a job's name is no path, and a restart has its own file" test -s pipeprobe-_._a_b_c/rank0000-attempt2.sqlite

# ---- what cannot be compared

change() { sql "$1" "UPDATE meta SET value = $3 WHERE section = 'rank' AND key = '$2'"; }
mkdir mixed attempts worlds gap other old
cp pipeprobe-slow/rank000[01].sqlite mixed && change mixed/rank0001.sqlite job "'tuesday'"
refuses "two jobs" 2 "is of job slow and .* of job tuesday" "$PP" ranks mixed
cp pipeprobe-slow/rank000[01].sqlite attempts
for n in 0 1; do sql attempts/rank000$n.sqlite "INSERT INTO meta (section, key, value) VALUES ('rank', 'attempt', $n)"; done
refuses "two attempts" 2 "attempt 0 .* attempt 1" "$PP" ranks attempts
cp pipeprobe-slow/rank000[01].sqlite worlds && change worlds/rank0001.sqlite world_size 5
refuses "two world sizes" 2 "of 3 ranks and .* of 5" "$PP" ranks worlds
refuses "one rank twice" 2 "are both of rank 1" "$PP" ranks pipeprobe-slow/rank0001.sqlite worlds/rank0000.sqlite pipeprobe-slow/rank0001.sqlite
change worlds/rank0001.sqlite rank 9
refuses "a rank that cannot be" 2 "rank 9 of 5" "$PP" ranks worlds/rank0001.sqlite
cp pipeprobe-slow/rank000[12].sqlite gap
run "$PP" ranks gap --json
is "no rank 0: it is missing, and the others are compared" "$rc $(json "$OUT" '$.missing') $(json "$OUT" '$.straggler_rank')" "0 0 2"
run "$PP" ranks pipeprobe-slow/rank0001.sqlite
is "one rank alone is not compared" "$rc" 3
like "and it says so" "$(cat "$OUT")" "Only rank 1 was recorded"
"$PP" run --synthetic n=100,size=64x48 --steps 5 -o alone.sqlite --quiet >/dev/null 2>&1
cp pipeprobe-slow/*.sqlite alone.sqlite other && echo "no database" >other/notes.sqlite && echo x >other/readme.txt
run "$PP" ranks other --json
is "other files in a directory are left out" "$rc $(json "$OUT" '$.straggler_rank')" "0 2"
like "one that is no recording is named" "$(cat "$ERR")" "left out +.*notes.sqlite"
like "and one of no rank" "$(cat "$ERR")" "left out +.*alone.sqlite is of no rank"
refuses "a file that was named is read" 4 "notes.sqlite" "$PP" ranks other/notes.sqlite pipeprobe-slow/rank0001.sqlite
refuses "a recording of no rank" 2 "alone.sqlite is of no rank" "$PP" ranks alone.sqlite
cp pipeprobe-slow/*.sqlite old && change old/rank0000.sqlite rank 0 && sql old/rank0000.sqlite "UPDATE meta SET value = '0.0.9' WHERE section = 'run' AND key = 'version'"
run "$PP" ranks old
like "two versions are compared, and said" "$(cat "$OUT")" "versions 0.0.9 and"
mkdir copied && cp pipeprobe-slow/*.sqlite copied
run "$PP" ranks copied
is "files of this machine get no note" "$rc $(cat "$ERR")" "0 "
for n in 0 1 2; do sql copied/rank000$n.sqlite "UPDATE meta SET value = 'node$((n / 2))' WHERE section = 'environment' AND key = 'hostname'"; done
run "$PP" ranks copied
like "files copied from other machines are compared" "$(cat "$OUT")" "Rank 2 .node node1. is the straggler"
is "and it says whose they are" "$(cat "$ERR")" "note       recorded on node0 and other machines, not on this one; commands and paths in the answer are for those machines"
mkdir async && cp pipeprobe-slow/*.sqlite async
sql async/rank0001.sqlite "INSERT INTO meta (section, key, value) VALUES ('process_note', '7', 'waits for other ranks are not recorded: the job has asynchronous collectives')"
run "$PP" ranks async --json
like "a rank whose waits were not all seen: no own time is claimed" "$(json "$OUT" '$.note')" "slow in the step itself is not seen"
mkdir none
refuses "an empty directory" 2 "holds no recording" "$PP" ranks none
refuses "nothing" 2 "no recordings given" "$PP" ranks
refuses "what is not there" 2 "nowhere" "$PP" ranks nowhere

# ---- digests

run "$PP" merge pipeprobe-slow/rank0002.sqlite -o c.digest
run "$PP" merge pipeprobe-slow/rank0001.sqlite pipeprobe-slow/rank0000.sqlite -o ab.digest
run "$PP" merge c.digest ab.digest -o tree.digest
is "digests merge" "$rc $(cat "$ERR")" "0 "
run "$PP" merge pipeprobe-slow -o all.digest
check "any tree is the same file" cmp tree.digest all.digest
"$PP" ranks pipeprobe-slow --json >"$T/of-recordings.json"
run "$PP" ranks all.digest --json
check "the answer from the digest is that from the recordings" cmp "$OUT" "$T/of-recordings.json"
mkdir parts && cp c.digest ab.digest parts
run "$PP" ranks parts --json
check "and that from a directory of digests" cmp "$OUT" "$T/of-recordings.json"
run "$PP" merge parts -o parts/all.digest
check "a digest of a directory may lie in it" cmp parts/all.digest all.digest
run "$PP" merge parts -o parts/all.digest --force
check "and is no part of the next one" cmp parts/all.digest all.digest
refuses "a rank twice" 2 "are both of rank 2" "$PP" merge c.digest all.digest -o twice.digest
check "and nothing is written" test ! -e twice.digest
refuses "a digest that is there" 2 "all.digest exists; --force" "$PP" merge c.digest -o all.digest
head -c 500 all.digest >half.digest
refuses "half a digest" 4 "half.digest is damaged or half-written" "$PP" ranks half.digest
: >empty.digest
refuses "an empty digest" 4 "empty.digest is no digest; make one with pipeprobe merge" "$PP" ranks empty.digest
refuses "a digest without a name" 2 "--output" "$PP" merge c.digest

# ---- pipeprobe in front of the launcher, not of its processes: two trainers in one recording

python=${PYTHON:-/usr/bin/python3}
case $BUILD in *address*|*thread*) python=none ;; esac # a sanitizer's library cannot be loaded into Python
if command -v "$python" >/dev/null; then
    export PYTHONPATH=$HERE/samples/python PIPEPROBE_LIB=$HERE/$BUILD/libpipeprobe.so.0 JOB=$HERE/tests/tools/recorded_job.py
    # shellcheck disable=SC2016
    run timeout 60 "$PP" exec -o both.sqlite -- sh -c '"$0" "$JOB" 1 0.5 python & "$0" "$JOB" 1 0.5 python & wait' "$python"
    like "two trainers in one recording: what to do instead" "$(cat "$ERR")" "2 processes took batches.* put pipeprobe behind the launcher"
    unset PYTHONPATH PIPEPROBE_LIB
else
    skip "two trainers in one recording" "$python is not there, or cannot load a sanitizer's library"
fi

# ---- a real launcher

if command -v mpiexec >/dev/null; then
    MPI="mpiexec -n 2"
    mpiexec --version 2>&1 | grep -q "Open MPI" && MPI="mpiexec -n 2 --oversubscribe --allow-run-as-root"
    # shellcheck disable=SC2016,SC2086
    run timeout 120 $MPI sh -c 'f=; [ "${PMI_RANK:-$OMPI_COMM_WORLD_RANK}" = 1 ] && f="--inject read-latency=15ms"
        exec "$0" run --synthetic n=4000,size=64x48 --workers 1 --batch-size 8 --step-ms 30 --steps 40 --warmup 5 --collective '"$T"'/meet-mpi --collective-limit=20s -o mpi/ --quiet $f' "$PP"
    is "mpiexec" "$rc $(ls mpi | wc -l)" "0 2"
    run "$PP" ranks mpi --json
    is "mpiexec: the slow rank is named" "$rc $(json "$OUT" '$.kind') $(json "$OUT" '$.straggler_rank')" "0 rank-straggler 1"
    like "mpiexec: by whom it was started" "$(json "$OUT" '$.launcher')" "MPI"
else
    skip "mpiexec" "no mpiexec: neither mpich nor openmpi-bin is installed"
fi
done_testing
