#!/bin/bash
# tests/bench/bench_cache.sh [--rounds N] [--steps N] [--images N]: samples/s of shards behind http:// from a warm cache, beside the same shards as local files.
#
# Rounds run outside, variants inside in turns, and each ratio is taken within its round. CPU time per sample stands beside the rate: it depends less on what
# else the machine does. Everything lies in the page cache; the server is asked for no sample.
set -u
cd "$(dirname "$0")/../.." || exit 1
rounds=7 steps=120 images=1000
while [ $# -gt 1 ]; do
    case $1 in
    --rounds) rounds=$2 ;;
    --steps) steps=$2 ;;
    --images) images=$2 ;;
    *) echo "bench_cache.sh: unknown option $1" >&2; exit 2 ;;
    esac
    shift 2
done
PP=build/release/pipeprobe W=build/bench DATA=build/bench/shards-$images
mkdir -p $W
[ -e "$DATA.made" ] || { rm -rf "$DATA" && build/release/samples/make_dataset "$DATA" --n "$images" --tar 4 >/dev/null && touch "$DATA.made"; } || exit 1
rm -rf $W/cache $W/port
/usr/bin/python3 tests/tools/fault_server.py $DATA --port-file $W/port >/dev/null 2>&1 </dev/null &
server=$!
trap 'kill $server; rm -rf $W/cache $W/port' EXIT
for ((i = 0; i < 200; i++)); do [ ! -s $W/port ] || break; sleep 0.05; done
shards="shard-{000000..000003}.tar" URL=http://127.0.0.1:$(cat $W/port)

measure() { # PLACE OPTIONS...: "samples/s CPU-us-per-sample"
    local TIMEFORMAT='%U %S' cpu
    cpu=$({ time $PP run "$@" --workers 2 --batch-size 64 --step none --steps "$steps" --no-record --json --quiet >$W/out 2>$W/err; } 2>&1) || return 1
    sqlite3 :memory: "SELECT json_extract(j, '\$.samples_per_s') || ' ' || json_extract(j, '\$.samples') FROM (SELECT CAST(readfile('$W/out') AS TEXT) j)" |
        awk -v cpu="$cpu" '{ split(cpu, c, " "); printf "%.1f %.1f\n", $1, (c[1] + c[2]) * 1e6 / $2 }'
}
variant() {
    case $1 in
    local) measure "$DATA/$shards" ;;
    cache) measure "$URL/$shards" --cache $W/cache --cache-bytes 4GiB ;;
    esac
}
echo "filling the cache: $(measure "$URL/$shards" --cache $W/cache --cache-bytes 4GiB --epochs 1)" >&2
for ((r = 0; r < rounds; r++)); do
    order="local cache"
    [ $((r % 2)) -eq 0 ] || order="cache local"
    for v in $order; do eval "$v=\$(variant $v)"; done
    echo "$local $cache"
done >$W/rounds
median() { sort -n | awk '{ v[NR] = $1 } END { printf "%.*f (%.*f to %.*f)", d, NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2, d, v[1], d, v[NR] }' d="$1"; }
cat <<END
| $rounds rounds of $steps batches of 64 | median (range) |
|---|---|
| local files, samples/s | $(awk '{ print $1 }' $W/rounds | median 0) |
| warm cache, samples/s | $(awk '{ print $3 }' $W/rounds | median 0) |
| warm cache over local files, samples/s | $(awk '{ print $3 / $1 }' $W/rounds | median 3) |
| local files over warm cache, CPU time per sample | $(awk '{ print $2 / $4 }' $W/rounds | median 3) |
END
