#!/bin/bash
# An unmodified data-parallel PyTorch job (gloo) with pipeprobe in front of each of its processes: the job gives what it gives without, each rank has its own file,
# the rank with the slow data set is named; in a job of equal ranks none is. PYTHON names the interpreter.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
PYTHON=${PYTHON:-/usr/bin/python3}
JOB=$PWD/tests/jobs/ranks.py
cd "$T" || exit 1

if [ ! -e "$(dirname "$PP")/python/attach/_pipeprobe.abi3.so" ]; then skip "ranks of a PyTorch job" "the extension is not built: no Python.h"; done_testing; fi
if ! "$PYTHON" -c 'import torch.distributed as d; assert d.is_available() and d.is_gloo_available()' 2>/dev/null; then
    skip "ranks of a PyTorch job" "$PYTHON has no torch with gloo"
    done_testing
fi
free_port() { "$PYTHON" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

# torch 1.13 under Python 3.11 takes no "0" for these two options, and that is their default.
PORT=$(free_port)
run timeout 250 "$PYTHON" -m torch.distributed.run -r 1 -t 1 --master_port "$PORT" --nproc_per_node 2 --no_python "$PP" exec -- "$PYTHON" "$JOB" --slow-rank 1
is "torchrun ends well" "$rc" 0
is "the job's own output" "$(sed -n 's/.*\(rank [01] of 2.*\)/\1/p' "$OUT" | sort)" "$(printf 'rank 0 of 2 total 39800\nrank 1 of 2 total 40000\n')"
dir=$(ls -d pipeprobe-*)
is "one directory of the job, a file per rank" "$(ls $dir)" "$(printf 'rank000%d.sqlite\n' 0 1)"
is "rank 0 alone speaks" "$(grep -c 'pipeprobe exec: this is rank 0 of 2; for all of them: pipeprobe ranks pipeprobe-' "$ERR") $(grep -c 'trainer stalls' "$ERR")" "1 0"
run "$PP" ranks "$dir" --json
is "the slow rank is named" "$rc $(json "$OUT" '$.kind') $(json "$OUT" '$.straggler_rank')" "0 rank-straggler 1"
is "by what it waits for" "$(json "$OUT" '$.cause') $(json "$OUT" '$.input_cause')" "data_wait transform"
is "its launcher" "$(json "$OUT" '$.launcher') $(json "$OUT" '$.ranks[1].local_rank') $(json "$OUT" '$.world_size')" "torchrun 1 2"
like "what was not recorded is said" "$(json "$OUT" '$.note')" "slow in the step itself is not seen"

# The same without torchrun: whoever sets RANK and WORLD_SIZE is a launcher.
PORT=$(free_port)
for rank in 0 1; do
    RANK=$rank WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=$PORT timeout 250 "$PP" exec -o even/ -- "$PYTHON" "$JOB" >"even-$rank.out" 2>"even-$rank.err" </dev/null &
    pids[rank]=$!
done
wait "${pids[@]}"
run "$PP" ranks even --json
is "equal ranks: none is named" "$rc $(json "$OUT" '$.straggler_rank')" "0 "
is "two ranks were compared" "$(json "$OUT" '$.ranks[1].rank') $(json "$OUT" '$.missing_ranks')" "1 0"
done_testing
