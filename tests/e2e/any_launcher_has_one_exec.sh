#!/bin/bash
# One pipeprobe exec in front of launchers other than torchrun: mpiexec (whichever is installed), SLURM's variables replayed, torchrun's within a SLURM step. Each
# rank has a recording of its own, and the job's output and exit code are its own. PYTHON names the interpreter.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
PYTHON=${PYTHON:-/usr/bin/python3}
export PYTHON JOB=$PWD/tests/jobs/loads.py
cd "$T" || exit 1
if [ ! -e "$(dirname "$PP")/python/attach/_pipeprobe.abi3.so" ]; then skip "one exec above any launcher" "the extension is not built: no Python.h"; done_testing; fi
if ! imports "$PYTHON" torch; then skip "one exec above any launcher" "$PYTHON has no torch"; done_testing; fi

fact() { sql "$1" "SELECT CASE typeof(value) WHEN 'real' THEN CAST(value AS INTEGER) ELSE value END FROM meta WHERE section = 'rank' AND key = '$2'"; }
batches() { sql "$1" "SELECT count FROM v_phase_summary WHERE phase = 'data_wait'"; }
OUTPUT=$(printf 'rank 0 total 7140\nrank 1 total 7140\n')

# ---- mpiexec

if command -v mpiexec >/dev/null; then
    mpi="mpiexec -n 2"
    mpiexec --version 2>&1 | grep -q "Open MPI\|PRRTE\|OpenRTE" && mpi="mpiexec -n 2 --oversubscribe --allow-run-as-root"
    # shellcheck disable=SC2086
    run timeout 200 "$PP" exec -o mpi/ -- $mpi "$PYTHON" "$JOB"
    is "mpiexec: the job's own output" "$rc $(sort "$OUT")" "0 $OUTPUT"
    is "mpiexec: a file per rank" "$(ls mpi | grep -c 'rank000[01]\.sqlite$') $(ls mpi | wc -l)" "2 2"
    like "mpiexec: who started them" "$(fact mpi/*rank0001.sqlite launcher)" "MPI"
    is "mpiexec: which they are" "$(fact mpi/*rank0001.sqlite rank) $(fact mpi/*rank0001.sqlite world_size) $(fact mpi/*rank0001.sqlite local_rank)" "1 2 1"
    is "mpiexec: each has its own batches" "$(batches mpi/*rank0000.sqlite) $(batches mpi/*rank0001.sqlite)" "30 30"
else
    skip "mpiexec" "no mpiexec: neither mpich nor openmpi-bin is installed"
fi

# ---- SLURM: its variables, as srun sets them (no SLURM runs here)

cat >srun.sh <<'END'
for rank in 0 1; do
    SLURM_JOB_ID=77 SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=2 SLURM_PROCID=$rank SLURM_LOCALID=0 SLURM_NODEID=$rank "$PYTHON" "$JOB" &
done
wait
END
run timeout 200 "$PP" exec -- sh srun.sh
is "srun: the job's own output" "$rc $(sort "$OUT")" "0 $OUTPUT"
is "srun: a file per rank, in the job's directory" "$(ls pipeprobe-77.0)" "$(printf 'rank000%d.sqlite\n' 0 1)"
is "srun: which they are" "$(fact pipeprobe-77.0/rank0001.sqlite launcher) $(fact pipeprobe-77.0/rank0001.sqlite node) $(fact pipeprobe-77.0/rank0001.sqlite job)" "SLURM 1 77.0"
run "$PP" ranks pipeprobe-77.0 --json
is "srun: they are of one job" "$rc $(json "$OUT" '$.world_size') $(json "$OUT" '$.missing_ranks')" "0 2 0"

# ---- a SLURM step of one task a machine, in which torchrun starts the ranks: pipeprobe is the task

cat >torchrun.sh <<'END'
for local in 0 1; do
    RANK=$((2 * SLURM_NODEID + local)) WORLD_SIZE=4 LOCAL_RANK=$local GROUP_RANK=$SLURM_NODEID TORCHELASTIC_RUN_ID=none "$PYTHON" "$JOB" &
done
wait
exit 5
END
SLURM_JOB_ID=78 SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=2 SLURM_PROCID=1 SLURM_LOCALID=0 SLURM_NODEID=1 run timeout 200 "$PP" exec -o both/ -- sh torchrun.sh
is "torchrun in a step: the exit code" "$rc" 5
is "torchrun in a step: the ranks have files, the task has none" "$(ls both)" "$(printf '78.0-rank000%d.sqlite\n' 2 3)"
is "torchrun in a step: RANK counts, and the job is SLURM's" "$(fact both/78.0-rank0003.sqlite launcher) $(fact both/78.0-rank0003.sqlite rank) $(fact both/78.0-rank0003.sqlite job)" "torchrun 3 78.0"
like "torchrun in a step: what to do with those of all machines" "$(cat "$ERR")" "pipeprobe ranks both/78.0-rank"

# ---- ranks that a program starts itself: the variables are set in processes that run already, or none, and the process group knows

cat >own_ranks.py <<'END'
import multiprocessing, os, runpy, sys

def rank(number):
    if sys.argv[1] == "group":
        import torch.distributed as dist
        dist.init_process_group("gloo", init_method="file://" + os.path.abspath("met"), rank=number, world_size=2)
    else:
        os.environ.update(RANK=str(number), WORLD_SIZE="2", LOCAL_RANK=str(number))
    runpy.run_path(os.environ["JOB"], run_name="__main__")

if __name__ == "__main__":
    context = multiprocessing.get_context("spawn" if sys.argv[1] == "group" else "fork")
    ranks = [context.Process(target=rank, args=(n,)) for n in range(2)]
    [p.start() for p in ranks]
    [p.join() for p in ranks]
    sys.exit(sum(p.exitcode for p in ranks))
END
for method in fork group; do
    run timeout 200 "$PP" exec -o own-$method/ -- "$PYTHON" own_ranks.py $method
    is "ranks of a program, $method: its own output" "$rc $(sed 's/rank none/rank 0/' "$OUT" | grep -c 'rank [01] total 7140')" "0 2"
    is "ranks of a program, $method: a file per rank, and none beside them" "$(ls own-$method | sed 's/.*rank/rank/' | paste -sd' ')" "rank0000.sqlite rank0001.sqlite"
    is "ranks of a program, $method: each has its own batches" "$(batches own-$method/*rank0000.sqlite) $(batches own-$method/*rank0001.sqlite)" "30 30"
    run "$PP" ranks own-$method --json
    is "ranks of a program, $method: they are of one job" "$rc $(json "$OUT" '$.world_size') $(json "$OUT" '$.missing_ranks')" "0 2 0"
done

# ---- a rank whose program is killed, and exec in front of it goes on

for rank in 0 1; do
    # shellcheck disable=SC2016
    RANK=$rank WORLD_SIZE=2 timeout 100 "$PP" exec -q -o program/ -- sh -c '"$PYTHON" "$JOB"; [ "$RANK" = 0 ] || kill -9 $$' >program-$rank.out 2>&1
    echo $? >program-$rank.rc
done
run "$PP" ranks program --json
is "a program is killed: exit codes" "$(cat program-0.rc program-1.rc | paste -sd' ')" "0 137"
is "a program is killed: how they ended" "$(json "$OUT" '$.ranks[0].outcome') $(json "$OUT" '$.ranks[1].outcome')" "finished killed"
like "a program is killed: which rank" "$(json "$OUT" '$.note')" "killed before it was done: rank 1;"

# ---- a rank is killed under one exec in front of the launcher, which then ends the others and fails

cat >first.sh <<'END'
export WORLD_SIZE=2 TORCHELASTIC_RUN_ID=first
LONG='import time, torch.utils.data as d
for x in d.DataLoader(range(100000), batch_size=4, num_workers=1): time.sleep(0.02)'
RANK=0 "$PYTHON" -c "$LONG" & others=$!
RANK=1 "$PYTHON" -c "$LONG" & victim=$!
for rank in 0 1; do
    for _ in $(seq 1200); do
        [ "$(sqlite3 -readonly first/*rank000$rank.sqlite "SELECT count(*) > 0 FROM rollup_batch" 2>/dev/null)" = 1 ] && break
        sleep 0.05
    done
done
kill -KILL $victim
sleep 1
kill -TERM $others
wait
exit 1
END
run timeout 200 "$PP" exec -o first/ -- sh first.sh
is "a rank is killed under one exec: the exit code" "$rc" 1
like "a rank is killed under one exec: it is said at the end" "$(cat "$ERR")" "pipeprobe exec: the job failed, and rank 1 ended first, "
run "$PP" ranks first --json
like "a rank is killed under one exec: which one" "$(json "$OUT" '$.note')" "the job failed, and rank 1 ended first, .* before the next one"
is "a rank is killed under one exec: of the others nothing is said" "$(json "$OUT" '$.ranks[0].first_by_ns')" ""
run "$PP" merge first -o first.digest
run "$PP" ranks first.digest --json
like "a rank is killed under one exec: a digest tells it too" "$(json "$OUT" '$.note')" "rank 1 ended first"
is "a job that ends well has no rank that ended first" "$("$PP" ranks pipeprobe-77.0 --json | grep -c 'ended first')" 0

# ---- exec is killed: the ranks go on, and their recordings are read

cat >kill.sh <<'END'
RANK=0 WORLD_SIZE=2 TORCHELASTIC_RUN_ID=killed "$PYTHON" "$JOB"
kill -9 $PPID
RANK=1 WORLD_SIZE=2 TORCHELASTIC_RUN_ID=killed timeout 60 "$PYTHON" "$JOB" >second 2>&1
echo "rank 1 ended with $?" >ended
END
{ timeout 200 "$PP" exec -- sh kill.sh; } >/dev/null 2>&1 </dev/null
for _ in $(seq 900); do [ -s ended ] && break; sleep 0.1; done
is "exec is killed: the job goes on" "$(cat ended second)" "$(printf 'rank 1 ended with 0\nrank 1 total 7140\n')"
run "$PP" report pipeprobe-killed/rank0000.sqlite --json
is "exec is killed: what a rank had recorded is there" "$(json "$OUT" '$.outcome') $(json "$OUT" '$.samples')" "unfinished 120"
done_testing
