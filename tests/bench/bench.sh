#!/bin/bash
# tests/bench/bench.sh [--rounds N] [--seconds S] [--blocks N] [--images N] [--parts yes|no]: the numbers pipeprobe promises, as tables.
#
# Repetitions run outside, variants inside, so that a slow minute of the machine hits all variants alike; every ratio is taken
# within its round and the median of these is shown with its range. Absolute rates are of this machine and this hour.
set -u
cd "$(dirname "$0")/../.." || exit 1
rounds=5 seconds=6 blocks=16 images=1000 parts=yes
while [ $# -gt 1 ]; do
    case $1 in
    --rounds) rounds=$2 ;;
    --seconds) seconds=$2 ;;
    --blocks) blocks=$2 ;; # of six short runs, for what recording costs
    --images) images=$2 ;;
    --parts) parts=$2 ;; # the benchmarks of single parts after the tables
    *) echo "bench.sh: unknown option $1" >&2; exit 2 ;;
    esac
    shift 2
done
B=build/release
PP=$B/pipeprobe
W=build/bench
DATA=$W/images-$images
PYTHON=/usr/bin/python3
mkdir -p $W
[ -e "$DATA.made" ] || { rm -rf "$DATA" && $B/samples/make_dataset "$DATA" --n "$images" --classes 20 && touch "$DATA.made"; } || exit 1

field() { sqlite3 :memory: "SELECT json_extract(CAST(readfile('$1') AS TEXT), '$2')"; }
say() { [ -t 2 ] && printf '\r%-70s' "$*" >&2; }

raw() { $B/tests/bench/bench_raw "$DATA" --threads "$1" --seconds "$seconds" >$W/out && field $W/out '$.samples_per_s'; }
RECORD="--force -o $W/run.sqlite"
# After warm-up to the end, by the loader's own count: the same definition with and without a recording.
loader() { # WORKERS RECORDING...
    local workers=$1
    shift
    $PP run "$DATA" --workers "$workers" --batch-size 64 --step none --warmup 10 --duration "$seconds" --json --quiet "$@" >$W/out 2>$W/err
    [ $? -le 3 ] || return
    if [ "$1" = --no-record ]; then field $W/out '$.samples_per_s'
    else sqlite3 $W/run.sqlite "SELECT value FROM meta WHERE section = 'result' AND key = 'samples_per_s'"; fi
}
pytorch() {
    $PYTHON tests/bench/peer_pytorch.py "$DATA" --workers 2 --batch-size 64 --epochs 2 >$W/out 2>$W/err || return
    grep -v '"warm_up": true' $W/out | sed 's/.*"samples_per_s": \([0-9.]*\).*/\1/' | sort -n | awk '{v[NR] = $1} END {print v[int((NR + 1) / 2)]}'
}

# name | command
variants="raw loop, 1 thread|raw 1
raw loop, 2 threads|raw 2
pipeprobe, 1 worker|loader 1 $RECORD
pipeprobe, 2 workers|loader 2 $RECORD
PyTorch + PIL, 2 workers|pytorch"
# name | numerator | denominator | goal
ratios='loader over raw loop, 2 threads|pipeprobe, 2 workers|raw loop, 2 threads|>= 0.95
loader over raw loop, 1 thread|pipeprobe, 1 worker|raw loop, 1 thread|
scaling 1 -> 2 workers, per worker|pipeprobe, 2 workers|pipeprobe, 1 worker|>= 0.95
scaling 1 -> 2 threads of the raw loop, per thread|raw loop, 2 threads|raw loop, 1 thread|
over PyTorch DataLoader + PIL|pipeprobe, 2 workers|PyTorch + PIL, 2 workers|>= 2.7'

absent=
if ! $PYTHON -c 'import torch, torchvision' 2>/dev/null; then
    absent="PyTorch + PIL: python3-torch or python3-torchvision is not installed"
    variants=$(grep -v '^PyTorch' <<<"$variants")
fi

: >$W/rates
for round in $(seq "$rounds"); do
    while IFS='|' read -r name command; do
        say "round $round of $rounds: $name"
        rate=$($command)
        if [ -n "$rate" ]; then echo "$round|$name|$rate" >>$W/rates; else echo "bench.sh: $name gave no rate: $(head -c 300 $W/err)" >&2; fi
    done <<<"$variants"
done
say ""; [ -t 2 ] && printf '\r' >&2

echo "Machine: $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(nproc) CPUs, $(awk '/MemTotal/ {printf "%.0f GiB", $2 / 1048576}' /proc/meminfo), kernel $(uname -r)"
echo "Date: $(date -u +%Y-%m-%d\ %H:%M) UTC; $images images; $rounds rounds of $seconds s, variants in turn; load $(cut -d' ' -f1 /proc/loadavg)"
[ -z "$absent" ] || echo "Left out: $absent"
echo
awk -F'|' -v ratios="$ratios" -v order="$variants" '
    function sorted(list, out,   n, i, j, t) {
        n = split(list, out, " ")
        for (i = 2; i <= n; i++) for (j = i; j > 1 && out[j] + 0 < out[j - 1] + 0; j--) { t = out[j]; out[j] = out[j - 1]; out[j - 1] = t }
        return n
    }
    function median(v, n) { return n % 2 ? v[(n + 1) / 2] : (v[n / 2] + v[n / 2 + 1]) / 2 }
    { rate[$2, $1] = $3; all[$2] = all[$2] " " $3; if ($1 > rounds) rounds = $1 }
    END {
        printf "%-42s %10s  %s\n", "samples per second", "median", "range"
        n = split(order, row, "\n")
        for (i = 1; i <= n; i++) {
            split(row[i], part, "|")
            k = sorted(all[part[1]], v)
            if (k) printf "%-42s %10.0f  %.0f - %.0f\n", part[1], median(v, k), v[1], v[k]
        }
        printf "\n%-50s %8s  %-16s %s\n", "ratio, within each round", "median", "range", "goal"
        n = split(ratios, row, "\n")
        for (i = 1; i <= n; i++) {
            split(row[i], part, "|")
            list = ""
            for (r = 1; r <= rounds; r++) if (rate[part[2], r] > 0 && rate[part[3], r] > 0) {
                x = rate[part[2], r] / rate[part[3], r]
                list = list " " (part[1] ~ /per (worker|thread)/ ? x / 2 : x)
            }
            k = sorted(list, v)
            if (k) printf "%-50s %8.3f  %.3f - %.3f    %s\n", part[1], median(v, k), v[1], v[k], part[4]
            else printf "%-50s %8s\n", part[1], "not measured"
        }
    }' $W/rates | tee $W/table

# Half a per cent is less than two runs on a shared machine differ by. So: many blocks of short runs, raw off on on off raw, which cancels a
# drift; the median of the blocks' ratios with its 95 % interval (order statistics, binomial), and beside it off against off.
: >$W/blocks
for block in $(seq "$blocks"); do
    say "block $block of $blocks: raw off on on off raw"
    line=$(seconds=3 raw 2)
    for mode in --no-record "$RECORD" "$RECORD" --no-record; do
        # shellcheck disable=SC2086
        line="$line $(seconds=3 loader 2 $mode)"
    done
    echo "$line $(seconds=3 raw 2)" >>$W/blocks
done
say ""; [ -t 2 ] && printf '\r' >&2
echo
awk '
    function row(name, list, goal,   n, v, i, j, t, k, p, sum) {
        n = split(list, v, " ")
        for (i = 2; i <= n; i++) for (j = i; j > 1 && v[j] + 0 < v[j - 1] + 0; j--) { t = v[j]; v[j] = v[j - 1]; v[j - 1] = t }
        p = sum = 0.5 ^ n # of the binomial distribution, n draws with even odds
        for (k = 0; k < n / 2 && sum <= 0.025; k++) { p *= (n - k) / (k + 1); sum += p }
        if (k < 1) k = 1
        printf "%-50s %8.3f  %.3f - %.3f    %s\n", name, n % 2 ? v[(n + 1) / 2] : (v[n / 2] + v[n / 2 + 1]) / 2, v[k], v[n + 1 - k], goal
    }
    NF == 6 { loader = loader " " ($3 + $4) / ($1 + $6); on = on " " ($3 + $4) / ($2 + $5); off = off " " $5 / $2; blocks++ }
    END {
        printf "%-50s %8s  %-16s %s\n", "2 workers on 2 CPUs, " blocks + 0 " blocks of 6 x 3 s", "median", "95 % interval", "goal"
        if (blocks) { row("recording loader over raw loop", loader, ">= 0.95"); row("recording on over off", on, ">= 0.995"); row("the second off over the first: the machine alone", off, "") }
    }' $W/blocks

echo
echo "Memory and allocations (2 workers, batch 64)"
$B/tests/tools/measure -o $W/used $PP run "$DATA" --workers 2 --batch-size 64 --step none --duration "$seconds" --json --quiet --force -o $W/run.sqlite >$W/out 2>$W/err
peak=$(field $W/used '$.peak_rss_bytes')
slots=$(sqlite3 $W/run.sqlite "SELECT value FROM meta WHERE section = 'result' AND key = 'slot_bytes'" 2>/dev/null)
warm=$(sqlite3 $W/run.sqlite "SELECT value FROM meta WHERE section = 'result' AND key = 'allocations_warm'" 2>/dev/null)
awk -v peak="$peak" -v slots="${slots:-}" 'BEGIN {
    printf "%-50s %8.1f MiB\n", "peak resident size", peak / 1048576
    if (slots != "") printf "%-50s %8.1f MiB\n%-50s %8.1f MiB   <= 64\n", "of it pinned slots", slots / 1048576, "peak without slots", (peak - slots) / 1048576
}'
[ -z "$warm" ] || printf '%-50s %8s       0\n' "loader buffers grown after warm-up" "$warm"

allocations() { # STEPS RECORDING...
    local steps=$1
    shift
    MALLOC_COUNT_FILE=$PWD/$W/mallocs LD_PRELOAD=$PWD/$B/tests/tools/libmalloccount.so \
        $PP run "$DATA" --workers 2 --batch-size 16 --step none --steps "$steps" --quiet "$@" >/dev/null 2>$W/err
    cat $W/mallocs
}
for mode in "$RECORD" --no-record; do
    # shellcheck disable=SC2086
    short=$(allocations 60 $mode) long=$(allocations 120 $mode)
    echo "$short $long" | awk -v mode="$([ "$mode" = --no-record ] && echo "not recording" || echo recording)" '{
        printf "%-50s %8.3f       0\n", "allocations per image by workers, " mode, ($4 - $2) / (60 * 16)
        printf "%-50s %8.3f\n", "  by all threads, file and report included", ($3 - $1) / (60 * 16) }'
done

[ "$parts" = yes ] || exit 0
printf '\nkills at random moments\n'
PP_TEST_KILLS=${PP_BENCH_KILLS:-1000} $B/tests/unit/collectors/store/test_store_recover 2>&1 | sed -n 's/^# \([0-9]* kills.*\)/\1/p; /FAILED/p'
bash tests/bench/peers_trace.sh
printf '\n'
bash tests/bench/watch.sh --images "$images"
printf '\nreport\n'
bash tests/bench/bench_report.sh
for source in tests/bench/bench_*.c; do
    part=$(basename "$source" .c)
    case $part in bench_raw | bench_ci) continue ;; bench_decode) arguments=$DATA ;; *) arguments= ;; esac
    printf '\n%s\n' "$part"
    $B/tests/bench/$part $arguments
done
