#!/bin/bash
# An unmodified data-parallel PyTorch job (gloo) with pipeprobe in front of each of its processes, or once in front of the launcher: the job gives what it gives
# without, each rank has its own file, the rank with the slow data set or the slow step is named; in a job of equal ranks none is. PYTHON names the interpreter.
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
is "the waits for other ranks were recorded" "$(json "$OUT" '$.collective_steps') $(json "$OUT" '$.note')" "$(json "$OUT" '$.compared_steps') "
holds "the other rank waits for it, and not for data" "$(json "$OUT" '$.ranks[0].collective_share') > $(json "$OUT" '$.ranks[0].data_wait_share')"

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

# One exec in front of the launcher. The slow rank is slow in its step, and sends its buffers to the other one before each.
PORT=$(free_port)
run timeout 250 "$PP" exec -o above/ -- "$PYTHON" -m torch.distributed.run -r 1 -t 1 --master_port "$PORT" --nproc_per_node 2 "$JOB" --slow-step-rank 0 --buffers --group --samples 120
is "above the launcher: it ends well" "$rc" 0
is "above the launcher: the job's own output" "$(sed -n 's/.*\(rank [01] of 2.*\)/\1/p' "$OUT" | sort)" "$(printf 'rank 0 of 2 total 14280\nrank 1 of 2 total 14400\n')"
is "above the launcher: a file per rank, and none beside them" "$(ls above | sed 's/.*rank/rank/')" "$(printf 'rank000%d.sqlite\n' 0 1)"
like "above the launcher: who is slow is said" "$(cat "$ERR")" "pipeprobe exec: Rank 0 .*is the straggler"
like "above the launcher: what to do next" "$(cat "$ERR")" "for all of it: pipeprobe ranks above"
run "$PP" ranks above --json
is "above the launcher: the slow rank is named" "$rc $(json "$OUT" '$.kind') $(json "$OUT" '$.straggler_rank') $(json "$OUT" '$.cause')" "0 rank-straggler 0 step"
is "above the launcher: sums over a named group are waits, and no clocks" "$(for f in above/*; do sql "$f" "SELECT count(*) FROM meta WHERE section = 'process_note' AND value LIKE 'clocks are not compared: %named group%'"; done | paste -sd' ')" "1 1"
holds "above the launcher: which are recorded" "$(json "$OUT" '$.collective_steps') > 0"
is "above the launcher: who they are" "$(json "$OUT" '$.launcher') $(json "$OUT" '$.ranks[1].local_rank') $(json "$OUT" '$.world_size')" "torchrun 1 2"

# Ranks of two attempts, as after an elastic restart, and what belongs to no rank.
cat >parts.sh <<'END'
"$PYTHON" -c 'import torch.utils.data as d; list(d.DataLoader(range(8)))'
for attempt in 0 1; do
    for rank in 0 1; do
        RANK=$rank WORLD_SIZE=2 TORCHELASTIC_RUN_ID=again TORCHELASTIC_RESTART_COUNT=$attempt "$PYTHON" -c 'import torch.utils.data as d; list(d.DataLoader(range(8)))'
    done
done
exit 3
END
export PYTHON
run timeout 120 "$PP" exec -o parts.sqlite -- sh parts.sh
is "parts: the script's exit code" "$rc" 3
is "parts: a file per rank and attempt, and one of what is no rank's" "$(ls | grep '^parts.*sqlite$')" \
    "$(printf '%s\n' parts-rank0000-attempt1.sqlite parts-rank0000.sqlite parts-rank0001-attempt1.sqlite parts-rank0001.sqlite parts.sqlite)"
is "parts: how they ended" "$(sql parts-rank0001.sqlite "SELECT value FROM meta WHERE section = 'run' AND key = 'outcome'")" failed
like "parts: the last attempt's files" "$(cat "$ERR")" "pipeprobe ranks parts-rank\*-attempt1.sqlite"
check "parts: no session is left" bash -c '! ls -d ./*.rings 2>/dev/null'
done_testing
