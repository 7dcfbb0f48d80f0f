#!/bin/bash
# idle
# Workers whose memory grows: by copying pages of Python objects that they had from the training process, by keeping what they make, and one that reads arrays.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
PYTHON=${PYTHON:-/usr/bin/python3}
case $BUILD in *address*|*thread*) skip_all "a sanitizer's library cannot be loaded into Python" ;; esac
imports "$PYTHON" torch || skip_all "$PYTHON has no torch"
grep -q Private_Dirty /proc/self/smaps_rollup 2>/dev/null || skip_all "no /proc/PID/smaps_rollup"

cat >"$T/job.py" <<'EOT'
import sys, time
import numpy, torch
from torch.utils.data import DataLoader, Dataset

N, SECONDS = 2000000, 40
class Records(Dataset):
    def __init__(self, how):
        self.how, self.kept = how, []
        self.data = numpy.arange(N) if how != "objects" else [float(i) for i in range(N)]
        self.end = time.monotonic() + SECONDS
    def __len__(self):
        return 1 << 30
    def __getitem__(self, i):
        share = N // (20 * SECONDS)  # of the objects, 20 times a second
        at = i * share % N
        time.sleep(0.05)
        total = sum(self.data[at : at + share])
        if self.how == "leak":
            self.kept.append(numpy.ones(1 << 17))
        return torch.tensor(float(total))

data = Records(sys.argv[1])
for x in DataLoader(data, batch_size=4, num_workers=1):
    if time.monotonic() > data.end:
        break
EOT
for how in objects leak arrays; do
    timeout 200 "$PP" exec -q -o "$T/$how.sqlite" -- "$PYTHON" "$T/job.py" $how >"$T/$how.out" 2>&1 &
done
wait
while read -r how state says; do
    run timeout 60 "$PP" report --json "$T/$how.sqlite"
    like "$how: $state" "$(sqlite3 :memory: "SELECT json_extract(value, '$.state') || ': ' || json_extract(value, '$.sentence') FROM json_each(CAST(readfile('$OUT') AS TEXT), '$.findings') WHERE json_extract(value, '$.kind') = 'memory-growth'")" "^$state: $says"
done <<'EOT'
objects found copy on write: worker 0 .process [0-9]+. copies [0-9.]+ MiB a minute of the training process's memory
leak found worker 0 .process [0-9]+. grows .* it keeps what it makes
arrays not-found the memory of [0-9]+ process(es)? does not go on growing
EOT
done_testing
