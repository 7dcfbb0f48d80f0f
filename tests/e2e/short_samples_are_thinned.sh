#!/bin/bash
# A job with very short samples: only some batches are recorded sample by sample, and the others still count. And what the training thread finds: batches that
# are ready, and waits that are those of a clock around next().
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
PYTHON=${PYTHON:-/usr/bin/python3} R=$T/run.sqlite
[ -e "$BUILD/python/attach/_pipeprobe.abi3.so" ] || skip_all "the extension is not built: no Python.h"
imports "$PYTHON" torch || skip_all "$PYTHON has no torch"
cat >"$T/tiny.py" <<'P'
import sys, time, torch
from torch.utils.data import DataLoader, IterableDataset, TensorDataset
class Stream(IterableDataset):
    def __iter__(self):
        info = torch.utils.data.get_worker_info()
        first, step = (info.id, info.num_workers) if info else (0, 1)
        return iter(range(first, 200000, step))
torch.manual_seed(1)
torch.set_num_threads(1)
data = Stream() if sys.argv[1] == "stream" else TensorDataset(torch.arange(200000))
total, sign, began = 0, 1, time.monotonic()
for batch in DataLoader(data, 500, shuffle=None if sys.argv[1] == "stream" else True, num_workers=int(sys.argv[2])):
    batch = batch[0] if isinstance(batch, (list, tuple)) else batch
    total, sign = total + sign * int(batch.sum()), -sign
print(total)
print("rate %.1f" % (200000 / (time.monotonic() - began)), file=sys.stderr)
P
for kind in map stream; do
    for workers in 2 0; do
        name="$kind, $workers workers"
        plain=$("$PYTHON" "$T/tiny.py" $kind $workers 2>/dev/null)
        run timeout 120 "$PP" exec -q -f -o "$R" -- "$PYTHON" "$T/tiny.py" $kind $workers
        is "$name: samples and order" "$rc $(cat "$OUT")" "0 $plain"
        is "$name: some batches by sample, others as a whole, all samples counted" "$(sql "$R" "SELECT sum(flags & 128 = 0) > 400, sum(flags & 128 = 0) < 100000, sum(flags & 128 > 0) > 20, sum(coalesce(samples, 1)) FROM (SELECT s.flags AS flags, v.samples AS samples FROM span s JOIN v_span v ON v.id = s.id WHERE v.phase = 'transform')")" "1|1|1|200000"
        run timeout 60 "$PP" report --json "$R"
        is "$name: the report counts all of them" "$(json "$OUT" '$.samples')" 200000
    done
done

depth() { sql "$R" "SELECT round(avg(value), 2), max(value) FROM (SELECT value FROM counter WHERE name = 'queue_ready_batches' ORDER BY t_ns LIMIT 100000 OFFSET 10)"; }
run timeout 120 "$PP" exec -q -f -o "$R" -- "$PYTHON" tests/jobs/counted.py --batches 100 --sample-ms 0 --step-ms 20
holds "a slow step: the batches of the prefetch are ready" "$(depth | cut -d'|' -f1) > 3.5 && $(depth | cut -d'|' -f2) <= 4"
run timeout 120 "$PP" exec -q -f -o "$R" -- "$PYTHON" tests/jobs/counted.py --batches 200 --sample-ms 10 --step-ms 0
X
run timeout 60 "$PP" top --once "$R"
check "top shows the queue" grep -qi 'ready' "$OUT"

# Sums: 200 waits of about 20 ms, in which a switch between two clocks is nothing.
run timeout 120 "$PP" exec -q -f -o "$R" -- "$PYTHON" tests/jobs/counted.py --batches 200 --sample-ms 10 --step-ms 0
theirs=$(sed -n 's/^waited \([0-9.]*\) .*/\1/p' "$OUT") ours=$(sql "$R" "SELECT sum(dur_ns) / 1e9 FROM v_span WHERE phase = 'data_wait'")
holds "the data wait is that of a clock around next(), to 1 % ($ours, $theirs s)" "$ours > 0.99 * $theirs && $ours < 1.01 * $theirs && $theirs > 2"
done_testing
