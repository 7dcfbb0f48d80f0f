#!/bin/bash
# bench_whatif.sh [--quick] [--keep DIR | --again DIR] [BASE...]: every knob of `pipeprobe whatif` against the same change made for real.
#
# Per base pipeline: a recording as it is, then for each knob the prediction from the latest such recording, the changed run, and the base once more, so
# that the machine's own drift (A/A: base over the base before it) stands beside the errors. A sleep takes no CPU, so what others do hardly moves the
# pipelines of the first group; those of the second need CPUs, and their errors hold what others did meanwhile. About 8 minutes; --quick 2.
# --keep DIR keeps the recordings, and --again DIR predicts from them once more without running anything: to see what a change of the model does.
set -eu
cd "$(dirname "$0")/../.."
PP=$PWD/${PP:-build/release/pipeprobe} MAKE_DATASET=$PWD/build/release/samples/make_dataset
quick=0 keep='' again=0 only=()
while [ $# -gt 0 ]; do
    case $1 in
    --quick) quick=1 ;;
    --keep) keep=$2; shift ;;
    --again) keep=$2 again=1; shift ;;
    -*) sed -n '2,8s/^# \{0,1\}//p' "$0"; exit 2 ;;
    *) only+=("$1") ;;
    esac
    shift
done
T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT
keep=${keep:-$T}
mkdir -p "$keep"
SECONDS_PER_RUN=${SECONDS_PER_RUN:-$([ $quick = 1 ] && echo 2 || echo 2.5)}
export LC_ALL=C.UTF-8 NO_COLOR=1

# base GROUP NAME OPTIONS, then its turns: knob, what is asked of whatif, what is changed for real (the last of an option counts; @cpus=N is taskset, @quota=C a
# control group, @cold and @warm the page cache of the images). A * marks those of --quick.
table() {
    local small='--synthetic n=40000,size=256x192 --transform resize:64,center:64 --batch-size 8'
    cat <<END
base sleep latency $small --workers 2 --step-ms 10 --inject read-latency=8ms,jitter=0.5
* workers | workers=4 | --workers 4
  workers | workers=1 | --workers 1
  workers | workers=12 | --workers 12
  prefetch | prefetch=8 | --prefetch 8
* batch-size | batch-size=16 step=2 | --batch-size 16 --step-ms 20
  batch-size | batch-size=4 step-ms=10 | --batch-size 4
  order | order=out-of-order | --out-of-order
* cache | cache=warm | --inject read-latency=0
* cache | cache=0.5 | --inject read-latency=8ms,jitter=0.5,tail=0.5:0
* storage-latency | storage-latency=0.25 | --inject read-latency=2ms,jitter=0.5
  storage-latency | storage-latency=3 | --inject read-latency=24ms,jitter=0.5
* storage-bandwidth | storage-bandwidth=1M | --inject read-bandwidth=1M
* step | step-ms=60 | --step-ms 60
  decode | decode=4 | --inject decode-cost=4
  cpus | cpus=1 | @cpus=1
base sleep tail $small --workers 4 --step-ms 8 --inject read-latency=2ms,tail=0.03:120ms
* order | order=out-of-order | --out-of-order
* prefetch | prefetch=8 | --prefetch 8
  prefetch | prefetch=1 | --prefetch 1
  workers | workers=2 | --workers 2
  workers | workers=8 | --workers 8
  storage-latency | storage-latency=0.5 | --inject read-latency=1ms,tail=0.03:60ms
  batch-size | batch-size=16 step=2 | --batch-size 16 --step-ms 16
base sleep link $small --workers 4 --synthetic n=40000,size=160x120..480x360 --step-ms 20 --inject read-bandwidth=2M
* workers | workers=1 | --workers 1
  workers | workers=8 | --workers 8
* storage-bandwidth | storage-bandwidth=4M | --inject read-bandwidth=4M
  storage-bandwidth | storage-bandwidth=1M | --inject read-bandwidth=1M
  cache | cache=warm | --inject read-bandwidth=10G
  prefetch | prefetch=1 | --prefetch 1
  batch-size | batch-size=32 step=4 | --batch-size 32 --step-ms 80
  step | step-ms=80 | --step-ms 80
base sleep iops $small --workers 4 --synthetic n=40000,size=160x120..480x360 --step-ms 20 --inject read-iops=100
* workers | workers=8 | --workers 8
  workers | workers=1 | --workers 1
* storage-latency | storage-latency=0.5 | --inject read-iops=200
  cache | cache=warm | --inject read-iops=1M
  batch-size | batch-size=16 step=2 | --batch-size 16 --step-ms 40
base sleep retries $small --workers 2 --step-ms 5 --inject read-latency=2ms --inject read-errors=0.3 --retry-backoff-ms 20
* retries | retries=0 | --retry-backoff-ms 0
  retries | retries=3 | --retry-backoff-ms 60
base sleep stall $small --workers 6 --step-ms 20 --inject storage-stall=300ms,every=700ms --inject read-latency=4ms
* prefetch | prefetch=8 | --prefetch 8
* workers | workers=2 | --workers 2
  workers | workers=12 | --workers 12
  step | step-ms=40 | --step-ms 40
base sleep copy $small --workers 2 --step-ms 30 --link-gbps 0.01 --copy-buffers 1
* overlap | overlap=on | --copy-buffers 2
  copy-buffers | copy-buffers=4 | --copy-buffers 4
* copy | copy=0.5 | --link-gbps 0.02
  step | step-ms=10 | --step-ms 10
  batch-size | batch-size=16 step=2 | --batch-size 16 --step-ms 60
base sleep overlapped $small --workers 2 --step-ms 30 --link-gbps 0.015
* overlap | overlap=off | --copy-buffers 1
  copy | copy=2 | --link-gbps 0.0075
  step | step-ms=15 | --step-ms 15
base sleep pageable $small --workers 2 --step-ms 10 --link-gbps 0.05 --pageable --inject copy-staging=30M
* pinned | pinned=yes | --no-pageable
  overlap | overlap=off | --copy-buffers 1
  step | step-ms=40 | --step-ms 40
base sleep sync $small --workers 2 --step-ms 10 --link-gbps 0.04 --sync-every-step --inject sync-latency=8ms
* sync | sync=0 | --no-sync-every-step
  step | step-ms=30 | --step-ms 30
  batch-size | batch-size=16 step=2 | --batch-size 16 --step-ms 20
base sleep trainer $small --workers 4 --step-ms 25 --inject read-latency=4ms,jitter=0.5
* step | step-ms=8 | --step-ms 8
  step | step=2 | --step-ms 50
* workers | workers=1 | --workers 1
  storage-latency | storage-latency=6 | --inject read-latency=24ms,jitter=0.5
  prefetch | prefetch=1 | --prefetch 1
  batch-size | batch-size=32 step-ms=25 | --batch-size 32
base cpu one-worker images --workers 1 --batch-size 16 --step-ms 20
* workers | workers=2 | --workers 2
* decode | decode=2 | --inject decode-cost=2
base cpu transform $small --workers 1 --step-ms 5 --inject transform-cost=6ms
* transform | transform=0.5 | --inject transform-cost=3ms
  transform | transform=2 | --inject transform-cost=12ms
base cpu collate $small --workers 1 --step-ms 5 --inject collate-cost=40ms
* collate | collate=0.5 | --inject collate-cost=20ms
  batch-size | batch-size=4 step-ms=5 collate=2 | --batch-size 4
base cpu two-workers images --workers 2 --batch-size 16 --step-ms 20
* cpus | cpus=1 | @cpus=1
  workers | workers=1 | --workers 1
  workers | workers=4 | --workers 4
* decode | decode=3 | --inject decode-cost=3
* step | step-ms=250 | --step-ms 250
  batch-size | batch-size=8 step=0.5 | --batch-size 8 --step-ms 10
base cpu one-cpu images --workers 2 --batch-size 16 --step-ms 20 @cpus=1
* cpus | cpus=2 | @cpus=2
  workers | workers=1 | --workers 1
base cpu quota images --workers 2 --batch-size 16 --step-ms 20 @quota=0.8
* cpus | cpus=1.6 | @quota=1.6
  cpus | cpus=0.4 | @quota=0.4
base cpu spinning-step images --workers 2 --batch-size 16 --step spin --step-ms 100
  step | step-ms=30 | --step-ms 30
  workers | workers=1 | --workers 1
  cpus | cpus=1 | @cpus=1
base cpu cold images --workers 2 --batch-size 16 --step-ms 20 @cold
* cache | cache=warm | @warm
END
}

# ---- running one ----

enter_quota() { # CPUS: this shell into a control group of its own
    local v1=/sys/fs/cgroup/cpu/pipeprobe-bench-$BASHPID v2=/sys/fs/cgroup/pipeprobe-bench-$BASHPID us
    us=$(awk "BEGIN { print int($1 * 100000) }")
    if mkdir "$v1" 2>/dev/null; then
        echo 100000 >"$v1/cpu.cfs_period_us" && echo "$us" >"$v1/cpu.cfs_quota_us" && echo "$BASHPID" >"$v1/cgroup.procs"
    elif mkdir "$v2" 2>/dev/null; then
        echo "$us 100000" >"$v2/cpu.max" && echo "$BASHPID" >"$v2/cgroup.procs"
    else
        return 1
    fi
}
leave_quota() { rmdir /sys/fs/cgroup/cpu/pipeprobe-bench-* /sys/fs/cgroup/pipeprobe-bench-* 2>/dev/null || true; }

jiffies() { awk '/^cpu / { print $2 + $3 + $4; exit }' /proc/stat; }

images() { # a folder of images, made once
    [ -d "$T/images" ] || "$MAKE_DATASET" "$T/images" --n 1500 --seed 3 >/dev/null
    echo "$T/images"
}

# one FILE OPTIONS...: runs it; $rate: samples/s, $others: CPUs that others used meanwhile. 77: this machine cannot.
one() {
    local file=$1 words=() cpus='' quota='' before start mine rc=0
    shift
    for word in "$@"; do
        case $word in
        images) words+=("$(images)") ;;
        @cpus=*) cpus=0-$((${word#*=} - 1)) ;;
        @quota=*) quota=${word#*=} ;;
        @cold) for f in "$(images)"/*/*; do echo "$f"; done | xargs -P1 -I{} dd if={} iflag=nocache count=0 status=none ;;
        @warm) cat "$(images)"/*/* >/dev/null ;;
        *) words+=("$word") ;;
        esac
    done
    before=$(jiffies) start=$EPOCHREALTIME
    (
        [ -z "$quota" ] || enter_quota "$quota" || exit 77
        exec ${cpus:+taskset -c "$cpus"} "$PP" run "${words[@]}" --duration "$SECONDS_PER_RUN" --seed 7 --quiet --force -o "$file" --json
    ) >"$T/run.json" 2>"$T/run.err" || rc=$?
    [ -z "$quota" ] || leave_quota
    [ $rc != 77 ] || return 77
    [ $rc = 0 ] || [ $rc = 3 ] || { echo "bench_whatif: '${words[*]}' exited with code $rc: $(head -n 1 "$T/run.err")" >&2; return 1; }
    rate=$(json "$T/run.json" '$.samples_per_s')
    mine=$(sqlite3 "$file" "SELECT COALESCE((SELECT max(value) FROM counter JOIN name ON name.id = counter.name WHERE name.name = 'process_cpu_ns_total'), 0) / 1e9" 2>/dev/null || echo 0)
    others=$(awk "BEGIN { o = ($(jiffies) - $before) / $(getconf CLK_TCK) - ${mine:-0}; printf \"%.1f\", (o > 0 ? o : 0) / ($EPOCHREALTIME - $start) }")
}

json() { sqlite3 :memory: "SELECT json_extract(CAST(readfile('$1') AS TEXT), '$2')"; }

# predict FILE SETS: $p_rate, $p_low, $p_high; 1 with the reason when it is refused.
predict() {
    local sets=() s
    for s in $2; do sets+=(--set "$s"); done
    "$PP" whatif "$1" "${sets[@]}" --json >"$T/whatif.json" 2>"$T/whatif.err" || { head -n 1 "$T/whatif.err"; return 1; }
    IFS='|' read -r p_rate p_low p_high < <(sqlite3 :memory: "SELECT json_extract(d, '\$.predictions[0].samples_per_s'), json_extract(d, '\$.predictions[0].low'),
        json_extract(d, '\$.predictions[0].high') FROM (SELECT CAST(readfile('$T/whatif.json') AS TEXT) AS d)")
}

wanted() { [ ${#only[@]} = 0 ] || [[ " ${only[*]} " = *" $1 "* ]]; }

# ---- the runs: one line per turn in results.tsv: group base knob set file base_rate measured others aa ----

results=$keep/results.tsv

run_all() {
    local line group name base_options knob set options n=0 aa before_rate base_rate marked
    : >"$results"
    while IFS= read -r line; do
        if [[ $line = base\ * ]]; then
            read -r _ group name base_options <<<"$line"
            base_rate=''
            continue
        fi
        marked=${line:0:1}
        IFS='|' read -r knob set options <<<"${line:2}"
        knob=${knob// /}
        { [ $quick = 0 ] || [ "$marked" = '*' ]; } && wanted "$name" || continue
        n=$((n + 1))
        if [ -z "$base_rate" ]; then
            one "$keep/$name-$n.sqlite" $base_options || { echo "  $name: not on this machine"; base_rate=''; continue; }
            base_rate=$rate base_file=$keep/$name-$n.sqlite
        fi
        one "$T/changed.sqlite" $base_options $options || continue
        local measured=$rate file=$base_file changed_others=$others
        before_rate=$base_rate
        one "$keep/$name-$n-after.sqlite" $base_options
        base_file=$keep/$name-$n-after.sqlite base_rate=$rate
        aa=$(awk "BEGIN { print $base_rate / $before_rate - 1 }")
        printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n' "$group" "$name" "$knob" "$(echo $set)" "${file##*/}" "$before_rate" "$measured" "$changed_others" "$aa" >>"$results"
        tail -n 1 "$results" | show
        [ "$keep" != "$T" ] || rm -f "$file"
    done < <(table)
}

# ---- what came of it ----

# Reads lines of results, predicts, prints them, and adds predicted, low and high to predicted.tsv.
show() {
    local group name knob set file base measured others aa
    while IFS=$'\t' read -r group name knob set file base measured others aa; do
        wanted "$name" || continue
        if ! predict "$keep/$file" "$set"; then
            printf '  %-13s %-26s %s\n' "$name" "$set" "not predicted"
            continue
        fi
        printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n' "$group" "$knob" "$measured" "$p_rate" "$p_low" "$p_high" "$others" "$aa" "$base" >>"$T/predicted.tsv"
        awk -v n="$name" -v s="$set" -v b="$base" -v m="$measured" -v p="$p_rate" -v l="$p_low" -v h="$p_high" -v o="$others" -v aa="$aa" 'BEGIN {
            out = (m < l || m > h) ? " out" : ""
            printf "  %-13s %-26s %7.0f -> predicted %7.0f (%.0f to %.0f)  measured %7.0f  error %+6.1f %%%-4s  A/A %+.1f %%  others %.1f\n",
                n, s, b, p, l, h, m, 100 * (p / m - 1), out, 100 * aa, o }'
    done
}

# Nearest-rank percentiles of |error|; width: of the interval over the prediction, median.
table_of_errors() {
    awk -F'\t' '
    function abs(x) { return x < 0 ? -x : x }
    function sorted(a, n,   i, j, t) { for (i = 2; i <= n; i++) for (j = i; j > 1 && a[j-1] > a[j]; j--) { t = a[j]; a[j] = a[j-1]; a[j-1] = t } }
    function at(a, n, q,   r) { r = int(q * n); if (r < q * n) r++; return a[r < 1 ? 1 : r] }
    function add(key) { n[key]++; e[key, n[key]] = abs($4 / $3 - 1); w[key, n[key]] = ($6 - $5) / $4; in_[key] += ($3 >= $5 && $3 <= $6); f[key, n[key]] = abs($8) }
    function row(key, label,   i, a, b, c) {
        for (i = 1; i <= n[key]; i++) { a[i] = e[key, i]; b[i] = w[key, i]; c[i] = f[key, i] }
        sorted(a, n[key]); sorted(b, n[key]); sorted(c, n[key])
        printf "  %-34s %4d %8.1f %% %8.1f %% %8.0f %% %8.0f %% %9.1f %% %8.1f %%\n", label, n[key], 100 * at(a, n[key], 0.5), 100 * at(a, n[key], 0.95), 100 * in_[key] / n[key],
            100 * at(b, n[key], 0.5), 100 * at(c, n[key], 0.5), 100 * at(c, n[key], 0.95)
    }
    { if (!($2 in seen)) { seen[$2]; order[++knobs] = $2 } add("k" $2); add("g" $1); add("all") }
    END {
        if (!n["all"]) exit 1
        printf "\n  %-34s %4s %10s %10s %10s %10s %11s %10s\n", "knob", "n", "median", "p95", "held", "width", "A/A median", "A/A p95"
        for (i = 1; i <= knobs; i++) row("k" order[i], order[i])
        if (n["gsleep"]) row("gsleep", "pipelines of sleeps")
        if (n["gcpu"]) row("gcpu", "pipelines that need CPUs")
        row("all", "all (promised: 5 %, 15 %, >= 80 %)")
    }' "$T/predicted.tsv"
}

: >"$T/predicted.tsv"
echo "$(date -u +'%F %H:%M'), $(nproc) CPUs ($(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1)), load $(cut -d' ' -f1-3 /proc/loadavg), $SECONDS_PER_RUN s a run"
if [ $again = 1 ]; then show <"$results"; else run_all; fi
table_of_errors
echo "  held: the 80 % interval holds the measured rate; width: of the interval over the prediction; load now $(cut -d' ' -f1-3 /proc/loadavg)"
