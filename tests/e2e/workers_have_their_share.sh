#!/bin/bash
# Workers without a shard of an iterable data set are named, and samples that read far more than they give.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
PYTHON=${PYTHON:-/usr/bin/python3}
case $BUILD in *address*|*thread*) skip_all "a sanitizer's library cannot be loaded into Python" ;; esac
imports "$PYTHON" torch || skip_all "$PYTHON has no torch"

cat >"$T/job.py" <<'EOT'
import sys, time
import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info

class Files(IterableDataset):
    def __iter__(self):
        i = get_worker_info()
        for f in range(int(sys.argv[2]))[i.id :: i.num_workers]:
            for k in range(480 // int(sys.argv[2])):
                until = time.process_time() + 0.004
                while time.process_time() < until:
                    pass
                yield torch.ones(3)

class Lines(Dataset):
    """offsets: seeks to the line; else every line before it is read"""
    def __len__(self):
        return 400
    def __getitem__(self, i):
        with open(sys.argv[2], "rb") as f:
            if sys.argv[3] == "offsets":
                f.seek(2000 * (i + 600))
                line = f.read(2000)
            else:
                for _ in range(i + 600):
                    line = f.readline()
        return torch.frombuffer(bytearray(line), dtype=torch.uint8)

if sys.argv[1] == "stream":
    for x in DataLoader(Files(), batch_size=4, num_workers=2):
        time.sleep(0.006)
else:
    for x in DataLoader(Lines(), batch_size=4, num_workers=2):
        time.sleep(0.002)
EOT
"$PYTHON" -c 'print("\n".join("x" * 1999 for _ in range(1001)))' >"$T/lines"
finding() { sqlite3 :memory: "SELECT json_extract(value, '$.$2') FROM json_each(CAST(readfile('$OUT') AS TEXT), '$.findings') WHERE json_extract(value, '$.kind') = '$1'"; }
record() {
    run timeout 100 "$PP" exec -q --force -o "$T/run.sqlite" -- "$PYTHON" "$T/job.py" "$@"
    is "$*: the job runs" "$rc" 0
    run timeout 60 "$PP" report --json "$T/run.sqlite"
}

record stream 1
like "one shard, two workers" "$(finding workers-without-data sentence)" "^1 of 2 workers deliver"
is "it is found" "$(finding workers-without-data state)" found
like "and the cause" "$(json "$OUT" '$.verdict.l1')/$(json "$OUT" '$.verdict.l2')" "loader/no-shard"
holds "samples of a stream are counted by worker" "$(sqlite3 :memory: "SELECT sum(json_extract(value, '$.samples')) FROM json_each(CAST(readfile('$OUT') AS TEXT), '$.workers')") > 400"
record stream 2
is "two shards: none" "$(finding workers-without-data state)" not-found

record lines "$T/lines" scan
is "a scan of the file is found" "$(finding read-amplification state)" found
like "and said" "$(finding read-amplification sentence)" "^the workers read [0-9.]+ MiB a sample for 1.95 KiB of tensors, [0-9.]+ times as much"
record lines "$T/lines" offsets
is "with offsets: none" "$(finding read-amplification state)" not-found
done_testing
