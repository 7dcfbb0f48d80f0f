#!/bin/bash
# The progress line of a run shows the rate and the time left in terminals of 80, 60 and 40 columns. Of the ranks of a job the first one has it.
. "$(dirname "$0")/../lib.sh"
. tests/tmux.sh
need_pipeprobe
need_tmux
"$MAKE_DATASET" "$T/images" --n 64 --size 64x64 --classes 2 >/dev/null
# The run before may still record, and its terminal end: each has a name of its own.
for columns in 80 60 40; do
    socket=pp-$$-$columns
    tm new-session -d -s top -x $columns -y 30 "env TERM=screen $PP run $T/images --step-ms 5 -b 8 --duration 20s -o $T/$columns.sqlite"
    wait_for "$columns columns: rate and time left" "samples/s  [0-9.]+ m?s left( |\$)"
    tm kill-server
done
if command -v script >/dev/null; then
    for rank in 0 1; do
        RANK=$rank WORLD_SIZE=2 script -qec "env TERM=screen $PP run $T/images --step-ms 5 -b 8 --duration 3s --force -o $T/rank.sqlite" /dev/null >"$T/$rank.tty" </dev/null
    done
    check "rank 0 shows its progress" grep -q 's left' "$T/0.tty"
    check "rank 1 runs" test -s "$T/rank-rank0001.sqlite"
    is "and shows none" "$(grep -c 's left' "$T/1.tty")" 0
else
    skip "progress of ranks" "no script (Debian: bsdutils)"
fi
done_testing
