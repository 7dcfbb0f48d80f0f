#!/bin/bash
# asleep
# pipeprobe attach of a job that takes no hooks: how long it waits, the cause and the line, by its stacks alone; the same wait as exec records. What the job
# does mostly sleeps.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
PYTHON=${PYTHON:-/usr/bin/python3}
imports "$PYTHON" torch || skip_all "no PyTorch for $PYTHON"
PP=$(realpath "$PP") && cd "$T" || exit 1
cat >"$T/train.py" <<'P'
import sys, time
from torch.utils.data import DataLoader, Dataset

class Slow(Dataset):
    def __len__(self):
        return 1000000
    def __getitem__(self, i):
        time.sleep(float(sys.argv[2]))
        return i

end = time.monotonic() + float(sys.argv[4])
for batch in DataLoader(Slow(), batch_size=4, num_workers=int(sys.argv[1])):
    open("began", "w").close()
    time.sleep(float(sys.argv[3]))
    if time.monotonic() > end:
        break
P
watch() { # WORKERS SAMPLE_S STEP_S: what attach says of such a job
    rm -f began
    "$PYTHON" "$T/train.py" "$@" 60 &
    job=$!
    for _ in $(seq 600); do [ -e began ] && break; sleep 0.1; done
    run timeout 60 "$PP" attach "$job" --outside --duration 8s
    kill $job
    wait $job 2>/dev/null
    said=$(tr -s '\n ' ' ' <"$OUT")
    waits=$(sed -n 's/^Training waits for data \([0-9]*\) % .*/\1/p' "$OUT")
    waits=${waits:-999}
}

watch 1 0.02 0.02 # a batch takes 80 ms, a step 20
is "it ends well" "$rc $(cat "$ERR")" "0 "
case $said in *"cannot be read"*) skip_all "stacks cannot be read here: $said" ;; esac
like "too few workers: the wait, with its interval" "$said" "Training waits for data [0-9]+ % of the time \([0-9]+ to [0-9]+ %\), by 1[0-9]+ looks at its stack"
holds "the wait is that of the job, 75 %" "$waits >= 65 && $waits <= 85"
like "the cause" "$said" "Cause: the making of batches sleeps.* \[LOADER-BOUND \(blocked\), likely\]"
like "the line" "$said" "Line: train.py:8, Slow.__getitem__, has (9[0-9]|100) % of the making of batches"
like "the change" "$said" "Do: Use more workers"
like "what is not known" "$said" "Not known: What a change gains"
run timeout 100 "$PP" exec -q -o "$T/e.sqlite" -- "$PYTHON" "$T/train.py" 1 0.02 0.02 8
recorded=$("$PP" report "$T/e.sqlite" --json | sed -n 's/.*"data_wait_share": \([0-9.]*\).*/\1/p' | head -1)
holds "exec records the same wait" "$waits / 100 - ${recorded:-9} < 0.1 && ${recorded:-9} - $waits / 100 < 0.1"

watch 0 0.01 0.04
holds "without workers: the training thread waits while it makes a batch, 50 %" "$waits >= 40 && $waits <= 60"
like "and that is the cause" "$said" "the training thread makes each batch itself \(num_workers=0\)"

watch 1 0.005 0.2
like "a loader that keeps up is not accused" "$said" "training does not wait for data. \[NOT input-bound, likely\]"
like "and the line of the step is there" "$said" "Line: train.py:14 has (9[0-9]|100) % of the looks"
done_testing
