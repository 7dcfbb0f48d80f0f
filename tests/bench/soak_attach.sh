#!/bin/bash
# soak_attach.sh [--minutes M] [--epochs N] [--workers N] [--keep FILE.tsv]: a recorded PyTorch job whose workers start anew in every epoch, until N epochs
# (1000) or M minutes (60) are over. Every few seconds: memory of the collector and of the training process, open files of both, files of the session,
# names in /dev/shm, size of the recording. What an epoch takes more of at the end than in the second quarter is a leak.
#
# The second quarter of the epochs is compared with the last one. Limits: memory +5 % and 4 MiB, counts +2, bytes of the recording per epoch +10 %, time
# per epoch +50 % (the machine may be busy). Exits 1 when something grows, 77 without torch. PYTHON names the interpreter.
set -u
cd "$(dirname "$0")/../.." || exit 2
PP=$PWD/${PP:-build/release/pipeprobe} MAKE_DATASET=$PWD/build/release/samples/make_dataset PYTHON=${PYTHON:-/usr/bin/python3}
minutes=60 epochs=1000 workers=8 keep=
while [ $# -gt 1 ]; do
    case $1 in
    --minutes) minutes=$2 ;;
    --epochs) epochs=$2 ;;
    --workers) workers=$2 ;;
    --keep) keep=$2 ;;
    *) break ;;
    esac
    shift 2
done
[ $# -eq 0 ] || { sed -n '2,8s/^# \{0,1\}//p' "$0"; exit 2; }
"$PYTHON" -c 'import torch, torchvision' 2>/dev/null || { echo "soak_attach: $PYTHON has no torch and torchvision" >&2; exit 77; }
T=$(mktemp -d) || exit 2
job= collector=
end() { [ -z "$collector" ] || kill -INT "$collector" 2>/dev/null; rm -rf "$T"; }
trap end EXIT
"$MAKE_DATASET" "$T/images" --n 64 --classes 2 --size 160x120 >/dev/null || exit 2
R=$T/soak.sqlite
keep=${keep:-$T/soak.tsv}

"$PP" exec -q -o "$R" -- "$PYTHON" tests/jobs/images.py "$T/images" --workers "$workers" --epochs "$epochs" --step-ms 0 >"$T/out" 2>"$T/err" &
collector=$!
for _ in $(seq 600); do
    job=$(pgrep -P "$collector" | head -n 1)
    [ -z "$job" ] || ! grep -q '^epoch' "$T/out" || break
    kill -0 "$collector" 2>/dev/null || break
    sleep 0.1
done
[ -n "$job" ] && grep -q '^epoch' "$T/out" || { echo "soak_attach: the job did not begin: $(tail -n 3 "$T/err")" >&2; exit 2; }

kib() { awk '/^RssAnon/ { print $2 }' "/proc/$1/status" 2>/dev/null; }
count() { find "$@" -mindepth 1 2>/dev/null | wc -l; }
bytes() { stat -c %s "$R" "$R-wal" 2>/dev/null | awk '{ n += $1 } END { print n + 0 }'; }
columns="seconds epoch collector_kib job_kib collector_files job_files session_files shm_names recording_bytes"
tr ' ' '\t' <<<"$columns" >"$keep"
began=$SECONDS
while kill -0 "$job" 2>/dev/null && [ $((SECONDS - began)) -lt $((minutes * 60)) ]; do
    row="$((SECONDS - began)) $(grep -c '^epoch' "$T/out") $(kib "$collector") $(kib "$job") $(count "/proc/$collector/fd") $(count "/proc/$job/fd") $(count "$R.rings") $(count /dev/shm) $(bytes)"
    [ "$(wc -w <<<"$row")" -ne 9 ] || tr ' ' '\t' <<<"$row" >>"$keep" # less: it has just ended
    sleep 2
done
kill -INT "$job" 2>/dev/null
wait "$collector"
status=$?
collector=
echo "$(grep -c '^epoch' "$T/out") epochs of 8 batches, $workers workers that start anew, in $((SECONDS - began)) s; exit status $status"
lost=$("$PP" report --json "$R" 2>/dev/null | grep -o '"spans_lost":[0-9]*' | head -n 1)
echo "${lost:+$lost, }$(sqlite3 "$R" "SELECT count(*) || ' threads, ' || (SELECT value FROM meta WHERE section = 'run' AND key = 'spans') || ' spans, ' || (SELECT count(*) FROM meta WHERE section = 'process_note') || ' notes' FROM thread")"

awk -F'\t' '
NR == 1 { for (i = 1; i <= NF; i++) name[i] = $i; next }
{ n++; for (i = 1; i <= NF; i++) v[n, i] = $i }
function quarter(q, i,   k, m, all) { # the median of the samples of the q-th quarter of the epochs
    m = 0
    for (k = 1; k <= n; k++)
        if (v[k, 2] >= v[n, 2] * (q - 1) / 4 && v[k, 2] <= v[n, 2] * q / 4) all[++m] = v[k, i]
    return m ? median(all, m) : -1
}
function median(a, m,   i, j, t) {
    for (i = 2; i <= m; i++) for (j = i; j > 1 && a[j - 1] > a[j]; j--) { t = a[j]; a[j] = a[j - 1]; a[j - 1] = t }
    return a[int((m + 1) / 2)]
}
function slope(q, i,   k, a, b) { # of column i per epoch, over the q-th quarter
    for (k = 1; k <= n; k++) if (v[k, 2] >= v[n, 2] * (q - 1) / 4 && v[k, 2] <= v[n, 2] * q / 4) { if (!a) a = k; b = k }
    return a && v[b, 2] > v[a, 2] ? (v[b, i] - v[a, i]) / (v[b, 2] - v[a, 2]) : -1
}
function row(what, before, after, most) {
    printf "%-26s %14.1f %14.1f   at most %14.1f  %s\n", what, before, after, most, after <= most ? "flat" : "GROWS"
    grows += !(after <= most)
    unknown += before < 0 || after < 0
}
END {
    if (n < 16 || v[n, 2] < 40) { print "too short to tell: " n + 0 " looks, " v[n, 2] + 0 " epochs"; exit 2 }
    printf "%-26s %14s %14s\n", "", "second quarter", "last quarter"
    for (i = 3; i <= 4; i++) { b = quarter(2, i); row(name[i], b, quarter(4, i), b * 1.05 + 4096) }
    for (i = 5; i <= 8; i++) { b = quarter(2, i); row(name[i], b, quarter(4, i), b + 2) }
    b = slope(2, 9); row("recording bytes per epoch", b, slope(4, 9), b * 1.1 + 1024)
    b = 1000 * slope(2, 1); row("ms per epoch", b, 1000 * slope(4, 1), b * 1.5)
    exit unknown ? 2 : grows > 0
}' "$keep"
