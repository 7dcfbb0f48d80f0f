#!/bin/bash
# The benchmark runs through and fills its tables; no number is judged here.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
need_built bench-bins "$BUILD/tests/bench/bench_raw"

"$MAKE_DATASET" "$T/images" --n 32 --size 160x120 >/dev/null
run "$BUILD/tests/bench/bench_raw" "$T/images" --threads 2 --seconds 0.5
is "the raw loop succeeds" "$rc" 0
holds "it has a rate" "$(json "$OUT" '$.samples_per_s') > 10"
is "and decodes every image" "$(json "$OUT" '$.failed')" 0

run bash tests/bench/bench.sh --rounds 1 --seconds 1 --blocks 1 --images 64 --parts no
is "bench.sh succeeds" "$rc" 0
for row in "loader over raw loop, 2 threads" "recording on over off" "scaling 1 -> 2 workers"; do
    like "measured: $row" "$(grep -F "$row" "$OUT")" "[0-9]\.[0-9]{3}"
done
if grep -q '^Left out: PyTorch' "$OUT"; then skip "measured: over PyTorch" "$(sed -n 's/^Left out: //p' "$OUT")"
else like "measured: over PyTorch" "$(grep -F 'over PyTorch' "$OUT")" "[0-9]\.[0-9]{3}"; fi
like "memory is told" "$(cat "$OUT")" "peak without slots +[0-9.]+ MiB"
like "allocations are told" "$(cat "$OUT")" "allocations per image by workers, not recording +[0-9.-]+"
done_testing
