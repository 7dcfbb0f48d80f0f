#!/bin/bash
# The sampling of an unmodified PyTorch job: a forgotten set_epoch and a sampler without rank are named, a right one raises no alarm, and
# what cannot be known is said. Processes that run one after the other play the ranks. PYTHON names the interpreter.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
PYTHON=${PYTHON:-/usr/bin/python3}
JOB=$PWD/tests/jobs/sampled.py

if [ ! -e "$PWD/$BUILD/python/attach/_pipeprobe.abi3.so" ]; then skip "the audit of a PyTorch job" "the extension is not built: no Python.h"; done_testing; fi
if ! imports "$PYTHON" torch; then skip "the audit of a PyTorch job" "$PYTHON has no torch"; done_testing; fi

# record HOW WORKERS RANK...
record() {
    local how=$1 workers=$2 rank
    shift 2
    for rank; do
        RANK=$rank WORLD_SIZE=2 LOCAL_RANK=$rank run timeout 120 "$PP" exec -q -o "$T/$how/" -- "$PYTHON" "$JOB" "$how" "$workers"
        is "$how: rank $rank runs as it does alone" "$rc" 0
    done
}
audit() { run "$PP" ranks "$T/$1" --audit --json; }

record right 2 0 1
audit right
is "each sample once per epoch" "$rc $(json "$OUT" '$.kind') $(json "$OUT" '$.samples') $(json "$OUT" '$.whole_epochs')" "0 clean 203 3"
is "padding is by design" "$(json "$OUT" '$.causes[0].name') $(json "$OUT" '$.causes[0].samples')" "padding 3"
one=$(find "$T/right" -name '*0000.sqlite')
is "the lists have what the samplers gave" "$(sql "$one" "SELECT sum(samples), sum(batches), sum(ended) FROM sample_order WHERE loader = 0")" "306|39|3"
is "and the session left nothing" "$(find "$T/right" -name '*.rings')" ""
record frozen 0 0
audit frozen
is "a forgotten set_epoch is named" "$rc $(json "$OUT" '$.causes[0].name') $(json "$OUT" '$.causes[0].epochs')" "1 same-order 2"
record alike 2 0 1
audit alike
is "a sampler without rank is named" "$rc $(json "$OUT" '$.causes[0].name') $(json "$OUT" '$.causes[0].samples')" "1 ranks-alike 609"

# ---- a job that is killed in epoch 1 and resumed: placed by its samples and checkpoints, not by the numbers of its process

# resume HOW WORKERS EXIT KIND [CAUSE]: the truth is what the job says it used, of which what came behind the checkpoint is lost.
resume() {
    local how=$1 r
    mkdir -p "$T/of-$how"
    for r in 0 1; do run timeout 120 "$PP" exec -q -o "$T/$how-$r.sqlite" -- "$PYTHON" "$PWD/tests/jobs/resumed.py" "$how" "$2" "$T/of-$how"; done
    is "$how: the second run ends" "$rc" 0
    run "$PP" ranks "$T/$how-0.sqlite" "$T/$how-1.sqlite" --audit --json
    is "$how: the audit" "$rc $(json "$OUT" '$.kind')${5:+ $(json "$OUT" '$.causes[0].name')}" "$3 $4${5:+ $5}"
}
resume right 2 0 clean
is "of the killed epoch the samples are listed" "$(sql "$T/right-0.sqlite" "SELECT group_concat(ended, '') FROM (SELECT max(ended) AS ended FROM sample_order GROUP BY epoch ORDER BY epoch)") $(sql "$T/right-0.sqlite" "SELECT sum(batches) >= 38 FROM sample_order")" "10 1"
resume order 2 1 broken resume-order
repeats=$("$PYTHON" - "$T/of-order/used" <<'EOF'
import sys
lines = [line.split() for line in open(sys.argv[1])]
first = [v for line in [l for l in lines if l[:2] == ["0", "1"]][:10] for v in line[2:]]
print(len(set(first) & {v for l in lines if l[:2] == ["1", "1"] for v in l[2:]}))
EOF
)
is "with the number of samples that came twice, and were left out" "$(json "$OUT" '$.causes[1].samples') $(json "$OUT" '$.causes[2].samples')" "$repeats $repeats"
resume again 0 3 inconclusive
like "which says why" "$(json "$OUT" '$.note')" "goes on with batch 7 of epoch 1, and the newest checkpoint seen stands before batch 10"

# ---- iterable data sets: their samples have no numbers, and are told by their content

record iterable 2 0
audit iterable
is "an iterable data set that is split: no alarm, and no claim" "$rc $(json "$OUT" '$.kind') $(json "$OUT" '$.causes[0].name')" "3 inconclusive "
like "which is said" "$(json "$OUT" '$.note')" "iterable data set have no numbers: .* the first 16"
record whole 2 0 1
audit whole
is "one that is split among neither" "$rc $(json "$OUT" '$.causes[0].name') $(json "$OUT" '$.causes[1].name') $(json "$OUT" '$.causes[1].epochs') $(json "$OUT" '$.causes[1].ranks')" \
    "1 ranks-alike workers-alike 3 0-1"
run "$PP" ranks "$T/whole" --audit
like "in words" "$(cat "$OUT")" "All workers of rank 0-1 made the same first samples in 3 epochs: the iterable data set is not split among workers"
for how in named listed turned; do
    record $how 2 0
    audit $how
    is "$how samples: workers that do not split them" "$rc $(json "$OUT" '$.causes[0].name')" "1 workers-alike"
done
record own 2 0
audit own
is "objects of the job's own are not asked" "$rc $(json "$OUT" '$.kind')" "3 inconclusive"
record wide 2 0
audit wide
is "what would have to be copied to be told is left alone" "$rc $(json "$OUT" '$.kind')" "3 inconclusive"
done_testing
