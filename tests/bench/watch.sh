#!/bin/bash
# tests/bench/watch.sh [--rounds N] [--seconds S] [--images N]: what `pipeprobe top` takes from the run it watches: goal < 0.5 % of its throughput.
#
# In each round a saturated loader runs four times, unwatched, watched, watched, unwatched, so that a machine that drifts hits both alike; the ratio is
# taken within the round. "unwatched again over unwatched" is what the machine does by itself: no ratio can be told more exactly than that. The CPU time
# of the dashboard, all threads, is counted by the kernel and needs no luck: over the CPUs of the machine it is what a saturated run loses at least. It is
# read while the run still goes on: the verdict of a run that has ended takes nothing from it.
set -u
cd "$(dirname "$0")/../.." || exit 1
rounds=3 seconds=30 images=1000
while [ $# -gt 1 ]; do
    case $1 in
    --rounds) rounds=$2 ;;
    --seconds) seconds=$2 ;;
    --images) images=$2 ;;
    *) echo "watch.sh: unknown option $1" >&2; exit 2 ;;
    esac
    shift 2
done
B=build/release
PP=$PWD/$B/pipeprobe
W=$PWD/build/bench
DATA=$W/images-$images
FILE=$W/watched.sqlite
mkdir -p "$W"
[ -e "$DATA.made" ] || { rm -rf "$DATA" && $B/samples/make_dataset "$DATA" --n "$images" --classes 20 && touch "$DATA.made"; } || exit 1

# A terminal of 120x40 whose output is not read.
watch() {
    local i
    for i in $(seq 50); do [ -s "$FILE" ] && break; sleep 0.1; done
    TERM=xterm-256color script -qfc "stty rows 40 cols 120; echo \$\$ >$W/top.pid; exec $PP top $FILE" /dev/null >/dev/null 2>&1 </dev/null
}
# CPU seconds of all threads of the dashboard, and since when it runs, both as of a second before the run ends.
count() {
    sleep $((seconds - 1))
    local pid
    pid=$(cat "$W/top.pid")
    echo "$(cat /proc/"$pid"/task/*/schedstat | awk '{s += $1} END {print s / 1e9}') $(ps -o etimes= -p "$pid")" >>"$W/top.cpu"
}
rate() { # watched|unwatched: samples/s of the loader after warm-up, by its own count
    local watcher= counter=
    rm -f "$FILE" "$W/top.pid"
    [ "$1" = unwatched ] || { watch & watcher=$!; count & counter=$!; }
    "$PP" run "$DATA" --workers "$(nproc)" --batch-size 64 --step none --warmup 10 --duration "$seconds" --json --quiet --force -o "$FILE" >/dev/null 2>"$W/err"
    [ $? -le 3 ] || cat "$W/err" >&2
    if [ -n "$watcher" ]; then
        kill -TERM "$(cat "$W/top.pid")"
        wait "$watcher" "$counter"
    fi
    sqlite3 "$FILE" "SELECT value FROM meta WHERE section = 'result' AND key = 'samples_per_s'"
}

: >"$W/watched" >"$W/top.cpu"
for round in $(seq "$rounds"); do
    [ -t 2 ] && printf '\rround %s of %s' "$round" "$rounds" >&2
    for state in unwatched watched watched unwatched; do echo "$round $state $(rate $state)" >>"$W/watched"; done
done
[ -t 2 ] && printf '\r%-30s\r' "" >&2

echo "A run watched by pipeprobe top: $rounds rounds of 4 x $seconds s, $(nproc) workers on $(nproc) CPUs, load $(cut -d' ' -f1 /proc/loadavg)"
awk -v cpus="$(nproc)" '
    function show(name, list, goal,   n, i, j, t, v) {
        n = split(list, v, " ")
        for (i = 2; i <= n; i++) for (j = i; j > 1 && v[j] + 0 < v[j - 1] + 0; j--) { t = v[j]; v[j] = v[j - 1]; v[j - 1] = t }
        printf "%-50s %8.4f  %.4f - %.4f  %s\n", name, n % 2 ? v[(n + 1) / 2] : (v[n / 2] + v[n / 2 + 1]) / 2, v[1], v[n], goal
    }
    FILENAME ~ /top.cpu$/ { cpu = cpu " " $1 / $2; lost = lost " " 1 - $1 / $2 / cpus; next }
    { i = ++seen[$1, $2]; r[$1, $2, i] = $3; if ($1 > rounds) rounds = $1 }
    END {
        for (k = 1; k <= rounds; k++) {
            u = r[k, "unwatched", 1] + r[k, "unwatched", 2]
            if (u > 0) { watched = watched " " (r[k, "watched", 1] + r[k, "watched", 2]) / u; alone = alone " " r[k, "unwatched", 2] / r[k, "unwatched", 1] }
        }
        printf "%-50s %8s  %-16s %s\n", "", "median", "range", "goal"
        show("watched over unwatched, samples/s", watched, "> 0.995")
        show("unwatched again over unwatched", alone, "")
        show("CPU of the dashboard, of one core", cpu, "<= 0.01 for its frames")
        show("what that leaves of a saturated machine", lost, "> 0.995")
    }' "$W/watched" "$W/top.cpu"
