#!/bin/bash
# tune_predictions.sh [--quick] [--keep DIR] [JOB...]: what `pipeprobe tune` predicts of other DataLoader arguments against what it measures with them.
#
# Unmodified jobs, each tuned with the changes of its row. Error: the predicted gain over the measured one, both as rates over the job as it is. A/A: how
# far equal runs of the job were apart, in the same minutes. The samples of the first group sleep, so that what else runs hardly moves them; those of the
# second decode images. Takes about SECONDS_PER_RUN (10) + 6 s for each of 122 runs (REPEATS=1): 27 minutes; --quick has the rows marked
# with a *: 3 minutes. PYTHON names the interpreter. --keep DIR keeps the recordings.
set -eu
cd "$(dirname "$0")/../.."
PP=$PWD/${PP:-build/release/pipeprobe} MAKE_DATASET=$PWD/build/release/samples/make_dataset PYTHON=${PYTHON:-/usr/bin/python3}
quick=0 keep='' only=()
while [ $# -gt 0 ]; do
    case $1 in
    --quick) quick=1 ;;
    --keep) keep=$2; shift ;;
    -*) sed -n '2,8s/^# \{0,1\}//p' "$0"; exit 2 ;;
    *) only+=("$1") ;;
    esac
    shift
done
SECONDS_PER_RUN=${SECONDS_PER_RUN:-10} REPEATS=${REPEATS:-1}
export LC_ALL=C.UTF-8 NO_COLOR=1
"$PYTHON" -c 'import torch' 2>/dev/null || { echo "tune_predictions: $PYTHON has no torch" >&2; exit 77; }
T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT
keep=${keep:-$T}
mkdir -p "$keep"

# NAME | the job and its arguments | changes
jobs_table() {
    cat <<'END'
* one-worker | sleeps.py --workers 1 --sample-ms 10 --step-ms 20 | workers=2 workers=4
one-worker-more | sleeps.py --workers 1 --sample-ms 10 --step-ms 20 | workers=3 workers=8 prefetch=4 workers=2,prefetch=4 prefetch=1
no-workers | sleeps.py --workers 0 --sample-ms 10 --step-ms 20 | workers=1 workers=2 workers=4 workers=2,prefetch=4
* tails | sleeps.py --workers 2 --sample-ms 4 --long-ms 200 --step-ms 14 | workers=4 prefetch=8
tails-more | sleeps.py --workers 2 --sample-ms 4 --long-ms 200 --step-ms 14 | workers=1 workers=8 prefetch=4 prefetch=1 workers=4,prefetch=4
keeps-up | sleeps.py --workers 4 --sample-ms 5 --step-ms 30 | workers=1 workers=2 workers=8 prefetch=1 prefetch=4
even | sleeps.py --workers 2 --sample-ms 10 --step-ms 20 | workers=1 workers=3 workers=4 prefetch=1 prefetch=4
no-step | sleeps.py --workers 2 --sample-ms 10 --step-ms 0.1 | workers=1 workers=3 workers=4 workers=8 prefetch=4
large-batch | sleeps.py --workers 2 --sample-ms 4 --batch 32 --step-ms 40 | workers=1 workers=3 workers=4 prefetch=1
short-epochs | sleeps.py --workers 2 --sample-ms 10 --step-ms 20 --samples 400 | workers=1 workers=4 prefetch=4 workers=4,prefetch=4
epochs-of-10 | sleeps.py --workers 2 --sample-ms 10 --step-ms 5 --samples 40 | workers=1 workers=4 workers=8 persistent=1 workers=4,persistent=1
epochs-that-keep | sleeps.py --workers 2 --sample-ms 10 --step-ms 5 --samples 40 --persistent | workers=1 workers=4 prefetch=1
epochs-and-pauses | sleeps.py --workers 1 --sample-ms 10 --step-ms 5 --samples 80 --pause-ms 400 | workers=2 workers=4
evaluations | sleeps.py --workers 1 --sample-ms 10 --step-ms 5 --evaluate-every 25 --evaluate-ms 800 | workers=2 workers=8
streamed | sleeps.py --workers 2 --sample-ms 10 --step-ms 20 --stream sharded | workers=1 workers=4 prefetch=4
validated | sleeps.py --workers 1 --sample-ms 10 --step-ms 20 --samples 400 --validate | workers=2 workers=4 prefetch=4
* images-1 | images.py @images --workers 1 --epochs 1000 --step-ms 20 | workers=2
images-1-more | images.py @images --workers 1 --epochs 1000 --step-ms 20 | workers=4 prefetch=4 workers=2,prefetch=4
images-0 | images.py @images --workers 0 --epochs 1000 --step-ms 20 | workers=1 workers=2
images-2 | images.py @images --workers 2 --epochs 1000 --step-ms 5 | workers=1 workers=4 prefetch=4 prefetch=1
images-slow-step | images.py @images --workers 2 --epochs 1000 --step-ms 150 | workers=1 workers=4 prefetch=1
images-subset | images.py @images --workers 1 --epochs 1000 --step-ms 20 --subset | workers=2 workers=4
images-persistent | images.py @images --workers 2 --epochs 1000 --step-ms 5 --persistent | workers=1 workers=4
END
}

trim() { sed 's/^ *//; s/ *$//' <<<"$1"; }
images() { [ -d "$T/images" ] || "$MAKE_DATASET" "$T/images" --n 1500 --seed 3 >/dev/null; }

# One job: a line per change into results.tsv: job, change, predicted gain, low, high, measured gain, low, high, A/A spread.
tune_one() {
    local name=$1 job=$2 change tries=()
    for change in $3; do tries+=(--try "$change"); done
    case $job in *@images*) images ;; esac
    # shellcheck disable=SC2086
    "$PP" tune --yes --quiet --json --output "$keep/$name" --duration "$SECONDS_PER_RUN" --proof-duration "$SECONDS_PER_RUN" --repeats "$REPEATS" "${tries[@]}" \
        -- "$PYTHON" tests/jobs/${job//@images/$T/images} >"$T/$name.json" 2>"$T/err" || { echo "tune_predictions: $name: exit code $?: $(tail -n 1 "$T/err")" >&2; return 0; }
    sqlite3 -separator $'\t' :memory: "SELECT '$name', replace(replace(replace(json_extract(c.value, '\$.set'), '\"', ''), '{', ''), '}', ''), json_extract(c.value, '\$.predicted.gain'),
        json_extract(c.value, '\$.predicted.low'), json_extract(c.value, '\$.predicted.high'), json_extract(c.value, '\$.measured.gain'), json_extract(c.value, '\$.measured.low'),
        json_extract(c.value, '\$.measured.high'), json_extract(d, '\$.baseline.relative_spread')
        FROM (SELECT CAST(readfile('$T/$name.json') AS TEXT) AS d), json_each(json_extract(d, '\$.candidates')) c" >>"$T/results.tsv"
}

: >"$T/results.tsv"
while IFS='|' read -r name job changes; do
    name=$(trim "$name")
    case $name in '* '*) name=${name#\* } ;; *) [ $quick = 0 ] || continue ;; esac
    [ ${#only[@]} = 0 ] || [[ " ${only[*]} " = *" $name "* ]] || continue
    tune_one "$name" "$(trim "$job")" "$changes" </dev/null
done < <(jobs_table)

awk -F'\t' '
function percent(x) { return x == "" ? "-" : sprintf("%+.0f", 100 * x) }
BEGIN { printf "%-18s %-36s %24s %24s %8s %6s\n", "job", "change", "predicted, %", "measured, %", "error, %", "A/A, %" }
{
    error = ""
    if ($3 != "" && $6 != "") { error = (1 + $3) / (1 + $6) - 1; e[n++] = error < 0 ? -error : error; if ($4 <= $6 && $6 <= $5) held++ }
    printf "%-18s %-36s %24s %24s %8s %6s\n", $1, $2, percent($3) " (" percent($4) " to " percent($5) ")", percent($6) " (" percent($7) " to " percent($8) ")",
        error == "" ? "-" : sprintf("%+.1f", 100 * error), $9 == "" ? "-" : sprintf("%.1f", 100 * $9)
}
END {
    if (!n) { print "nothing was predicted and measured"; exit 1 }
    for (i = 0; i < n; i++) for (k = i + 1; k < n; k++) if (e[k] < e[i]) { x = e[i]; e[i] = e[k]; e[k] = x }
    printf "%d changes: error of the predicted rate: median %.1f %%, p95 %.1f %%, largest %.1f %%; the 80 %% interval holds the measured gain in %d\n", n, 100 * e[int((n - 1) / 2)],
        100 * e[int(0.95 * (n - 1) + 0.5)], 100 * e[n - 1], held
}' "$T/results.tsv"
