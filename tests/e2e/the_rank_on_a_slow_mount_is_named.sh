#!/bin/bash
# Four ranks under mpiexec, one of which reads its data from a slow mount: `pipeprobe ranks` names it and no other. A part of `make bench-ranks`.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
ROUNDS=1 STEPS=40 ONLY=mpiexec FAULTS=storage run timeout 200 bash tests/bench/ranks.sh
if [ "$rc" -eq 77 ]; then skip "the rank on a slow mount" "$(tail -n 1 "$ERR")"; done_testing; fi
is "the benchmark finds nothing wrong" "$rc" 0
like "the rank is named, by what it does" "$(cat "$OUT")" 'storage of rank 0: rank-straggler, rank 0, data_wait explains .*; in it read '
like "and no other one" "$(cat "$OUT")" '^\| mpiexec \| storage \| 1 of 1 \| 0 \| data_wait/read 1 \|'
done_testing
