#!/bin/bash
# tests/bench/bench_ci.sh [--quick] [--rounds N] [--seconds S] [--trials N] [--draws N]: how good the gate is, as tables: on runs made up, and on real
# runs of this machine, of one loader bound by storage and one by decoding: against the same thing, and against the same thing made 10 % slower.
# About 11 minutes: 16 rounds x 3 runs x 5 s for each loader, and a minute for the simulation. --quick: about 3.
set -u
cd "$(dirname "$0")/../.." || exit 1
rounds=16 seconds=5 trials=200 draws=300
while [ $# -gt 0 ]; do
    case $1 in
    --quick) rounds=7 seconds=3 trials=40 ;;
    --rounds) rounds=$2 && shift ;;
    --seconds) seconds=$2 && shift ;;
    --trials) trials=$2 && shift ;;
    --draws) draws=$2 && shift ;;
    *) echo "bench_ci.sh: unknown option $1" >&2; exit 2 ;;
    esac
    shift
done
B=build/release
W=build/bench/ci
DATA=$W/images
mkdir -p $W
[ -e $DATA.made ] || { rm -rf $DATA && $B/samples/make_dataset $DATA --n 200 --classes 4 && touch $DATA.made; } || exit 1

# No step: the loader's own rate is what is slowed, so all of it shows. One worker leaves the second CPU of a small machine to everything else.
record() { # LOADER SIDE NUMBER OPTIONS...
    local file=$W/$1/$2/$3.sqlite
    shift 3
    $B/pipeprobe run $DATA --workers 1 --batch-size 8 --step none --warmup 2 --seed 1 --duration "$seconds" --quiet --force -o "$file" "$@" >$W/out 2>&1
    [ $? -le 3 ] || { echo "bench_ci.sh: a run failed: $(tail -n 1 $W/out)" >&2; exit 1; }
}
# The middle run of a round is BASE; before it and after it, by turns, the same once more and the slower one. So both pairs are made side by side, and
# neither always comes first.
rounds_of() { # LOADER "OPTIONS OF BASE" "OPTIONS OF SLOW"
    local i
    rm -rf "${W:?}/$1" && mkdir -p "$W/$1/base" "$W/$1/same" "$W/$1/slow"
    for i in $(seq -w "$rounds"); do
        [ -t 2 ] && printf '\r%s: round %s of %d' "$1" "$i" "$rounds" >&2
        if [ $((10#$i % 2)) = 1 ]; then record "$1" same "$i" $2; else record "$1" slow "$i" $3; fi
        record "$1" base "$i" $2
        if [ $((10#$i % 2)) = 1 ]; then record "$1" slow "$i" $3; else record "$1" same "$i" $2; fi
    done
    [ -t 2 ] && printf '\r%40s\r' '' >&2
    return 0
}
tables_of() { # LOADER "NAME"
    echo
    $B/tests/bench/bench_ci runs "$2" "$W/$1/base" "$W/$1/same" "$W/$1/slow" "$draws" || exit 1
}
rounds_of storage "--inject read-latency=8ms" "--inject read-latency=9ms"
rounds_of decode "" "--inject decode-cost=1.13"

echo "Machine: $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(nproc) CPUs; $(date -u +%Y-%m-%d\ %H:%M) UTC; load $(cut -d' ' -f1 /proc/loadavg); runs of $seconds s"
tables_of storage "Bound by storage"
tables_of decode "Bound by decoding"
echo
$B/tests/bench/bench_ci sim "$trials" || exit 1
