#!/bin/bash
# Bytes that workers hand over: those of a batch's tensors, and those of the storages behind them, which a view carries whole.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
PYTHON=${PYTHON:-/usr/bin/python3}
case $BUILD in *address*|*thread*) skip_all "a sanitizer's library cannot be loaded into Python" ;; esac
imports "$PYTHON" torch || skip_all "$PYTHON has no torch"

cat >"$T/job.py" <<'EOT'
import sys, time
import torch
from torch.utils.data import DataLoader, Dataset

class Clips(Dataset):
    all = torch.zeros((40, 3, 64, 64), dtype=torch.uint8)
    def __len__(self):
        return 120
    def __getitem__(self, i):
        clip = Clips.all if sys.argv[1] == "shared" else torch.zeros((40, 3, 64, 64), dtype=torch.uint8)
        part = clip[4:6]
        if sys.argv[1] == "many":
            return [part.clone() for _ in range(30)]
        if sys.argv[1] == "odd":
            return {"e": torch.empty(0), "q": torch.ones(3)[None].expand(9, 3), "t": (i, "x", None, [part.clone()]), "h": torch.nn.Parameter(torch.ones(2))}
        return part.clone() if sys.argv[1] == "clone" else part

if sys.argv[1] == "shared":
    Clips.all.share_memory_()
seen = 0
for x in DataLoader(Clips(), batch_size=4, num_workers=2, collate_fn=list if sys.argv[1] != "collate" else None):
    seen += len(x)
    time.sleep(0.04)
print(seen)
EOT
finding() { sqlite3 :memory: "SELECT json_extract(value, '$.$2') FROM json_each(CAST(readfile('$OUT') AS TEXT), '$.findings') WHERE json_extract(value, '$.kind') = '$1'"; }
# Of a row: the batch's bytes of tensors, how many times as much is handed over, and whether that is found.
while read -r how bytes factor state; do
    run timeout 60 "$PP" exec -q --force -o "$T/run.sqlite" -- "$PYTHON" "$T/job.py" "$how"
    is "$how: the job's output and status" "$rc $(cat "$OUT")" "0 120"
    run timeout 60 "$PP" report --json "$T/run.sqlite"
    is "$how: bytes of a batch" "$(finding view-of-storage numbers.tensor_bytes)" "$bytes"
    is "$how: bytes handed over for each" "$(finding view-of-storage numbers.handed_factor)" "$factor"
    is "$how: found" "$(finding view-of-storage state)" "$state"
done <<'EOT'
view 98304 20 found
clone 98304 1 not-found
collate 98304 1 not-found
shared 98304 1 not-found
many 2949120 1 not-found
EOT
like "what is left of /dev/shm" "$(finding shm-full sentence)" "^/dev/shm had .* left"
run timeout 60 "$PP" exec -q --force -o "$T/run.sqlite" -- "$PYTHON" "$T/job.py" odd 2>/dev/null
is "tensors of other kinds: the job ends as it would" "$rc $(cat "$OUT")" "$(timeout 60 "$PYTHON" "$T/job.py" odd >"$T/alone" 2>/dev/null; echo $? "$(cat "$T/alone")")"
done_testing
