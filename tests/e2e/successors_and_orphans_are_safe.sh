#!/bin/bash
# Processes that outlive what they belong to, or become somebody else: rings of a successor stay, what orphans record is counted as it is stored, and a
# program of another user says nothing about us on the job's standard error.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
PYTHON=${PYTHON:-/usr/bin/python3}

# ---- the directory of a recording is deleted and made anew while it runs ----
mkdir "$T/o"
"$PP" run --synthetic n=4000,size=32x32 --duration 3s --workers 1 --quiet -o "$T/o/k.sqlite" >/dev/null 2>&1 &
first=$!
for _ in $(seq 1200); do [ -e "$T/o/k.sqlite.rings/ring-0003" ] && break; sleep 0.05; done # its threads have their rings
rm -rf "$T/o" && mkdir "$T/o"
run "$PP" run --synthetic n=4000,size=32x32 --duration 6s --workers 1 --quiet -o "$T/o/k.sqlite"
like "the second recording ends well" "$rc" "^[03]$"
wait $first
like "no thread of it was without a ring" "$(sql "$T/o/k.sqlite" "SELECT count(*) FROM loss WHERE what = 'threads'")" "^0$"
holds "its last second is there" "$(sql "$T/o/k.sqlite" "SELECT (max(start_ns) - min(start_ns)) / 1e9 FROM v_span") > 5"

# ---- another user ----
if [ "$(id -u)" -ne 0 ] || ! command -v su >/dev/null || [ ! -e "$BUILD/libpipeprobe_reads.so" ]; then
    skip "a program of another user" "needs root, su and the hooks"
else
    mkdir -m 700 "$T/home" && cp "$PP" "$BUILD"/libpipeprobe_{reads,inject}.so "$T/home/" && cp -r "$BUILD/python" "$T/home/"
    run "$T/home/pipeprobe" exec -q --force -o "$T/su.sqlite" -- su -s /bin/sh nobody -c 'echo hi; ls /nonexistent; env | grep -c LD_PRELOAD'
    is "its output" "$(paste -sd' ' "$OUT")" "hi 0"
    is "its standard error has its own line alone" "$(sed 's/^ls: .*nonexistent.*/ls/' "$ERR")" "ls"
    run "$T/home/pipeprobe" exec -q --force -o "$T/su.sqlite" -- sh -c 'env | grep -c LD_PRELOAD'
    is "a program of the same user keeps it, and what it starts" "$(cat "$OUT")" 1
fi

# ---- the trainer is killed, its workers are not ----
imports "$PYTHON" torch || { skip "orphans" "$PYTHON has no torch"; done_testing; }
cat >"$T/job.py" <<'P'
import time
import torch
from torch.utils.data import DataLoader, Dataset
class Slow(Dataset):
    def __len__(self): return 4000
    def __getitem__(self, i): time.sleep(0.001); return torch.zeros(8)
if __name__ == "__main__":
    for n, batch in enumerate(DataLoader(Slow(), batch_size=4, num_workers=2)):
        if n == 5: print("go", flush=True)
P
for i in 1 2 3; do
    mkfifo "$T/go.$i"
    "$PP" exec -q --force -o "$T/k.sqlite" -- "$PYTHON" "$T/job.py" >"$T/go.$i" 2>/dev/null &
    recorder=$!
    read -r _ <"$T/go.$i"
    sleep "0.$((i * 3))"
    kill -9 "$(ps -o pid= --ppid $recorder | head -n 1)"
    wait $recorder 2>/dev/null
    "$PP" report "$T/k.sqlite" >/dev/null 2>&1
    is "kill $i: each thread counts what is stored" "$(sql "$T/k.sqlite" "SELECT count(*) FROM thread t WHERE recorded > (SELECT coalesce(sum(n), 0) FROM chunk WHERE thread = t.id)")" 0
done
done_testing
