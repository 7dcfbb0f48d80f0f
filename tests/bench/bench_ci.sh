#!/bin/bash
# tests/bench/bench_ci.sh [--runs N] [--seconds S] [--trials N] [--splits N]: how good the gate is, as tables: simulated, and on real runs of this machine:
# A against A, and against the same work with decoding made slower on purpose.
set -u
cd "$(dirname "$0")/../.." || exit 1
runs=28 seconds=4 trials=1000 splits=400
while [ $# -gt 1 ]; do
    case $1 in
    --runs) runs=$2 ;;
    --seconds) seconds=$2 ;;
    --trials) trials=$2 ;;
    --splits) splits=$2 ;;
    *) echo "bench_ci.sh: unknown option $1" >&2; exit 2 ;;
    esac
    shift 2
done
B=build/release
W=build/bench/ci
DATA=$W/images
rm -rf $W/a $W/b
mkdir -p $W/a $W/b
[ -e $DATA.made ] || { rm -rf $DATA && $B/samples/make_dataset $DATA --n 200 --classes 4 && touch $DATA.made; } || exit 1

# A, B, B, A: what drifts hits both sides alike. No step: the loader's own rate is what is slowed, so all of it shows.
record() { # SIDE NUMBER OPTIONS...
    local side=$1 number=$2
    shift 2
    $B/pipeprobe run $DATA --workers 1 --batch-size 16 --step none --warmup 8 --seed 1 --duration "$seconds" --quiet --force -o "$W/$side/$number.sqlite" "$@" >$W/out 2>&1
    [ $? -le 3 ] || { echo "bench_ci.sh: a run failed: $(tail -n 1 $W/out)" >&2; exit 1; }
}
for i in $(seq "$runs"); do
    [ -t 2 ] && printf '\rpair %d of %d' "$i" "$runs" >&2
    if [ $((i % 2)) = 1 ]; then record a "$i"; record b "$i" --inject decode-cost=1.15; else record b "$i" --inject decode-cost=1.15; record a "$i"; fi
done
[ -t 2 ] && printf '\r%20s\r' '' >&2

echo "Machine: $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(nproc) CPUs; $(date -u +%Y-%m-%d\ %H:%M) UTC; load $(cut -d' ' -f1 /proc/loadavg)"
echo
$B/tests/bench/bench_ci sim "$trials" || exit 1
echo
$B/tests/bench/bench_ci runs $W/a $W/b "$splits" || exit 1
