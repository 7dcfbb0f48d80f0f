#!/bin/bash
# soak_attach.sh [--minutes M] [--epochs N] [--workers N] [--keep FILE.tsv]: a recorded PyTorch job whose workers start anew in every epoch, until N epochs
# (1000) or M minutes (60) are over. Every few seconds: memory of the collector and of the training process, open files of both, files of the session,
# names that the job has in /dev/shm, size of the recording. What there is more of at the end than in the second quarter is a leak.
#
# The last quarter of the epochs is compared with the second one. Limits: memory (medians) +5 % and 4 MiB, counts (the smallest) +2, the job's open files
# 2 more per worker, files of the session 1 more per worker (rings of those that ended last stay until the collector looks; one a worker and an epoch would be
# thousands), bytes of the recording per second +10 %, time per epoch +50 % (the machine may be busy). Exits 1 when something grows, 77 without torch.
# PYTHON names the interpreter.
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
[ $# -eq 0 ] || { sed -n '2,10s/^# \{0,1\}//p' "$0"; exit 2; }
"$PYTHON" -c 'import torch, torchvision' 2>/dev/null || { echo "soak_attach: $PYTHON has no torch and torchvision" >&2; exit 77; }
T=$(mktemp -d) || exit 2
job= collector=
end() { [ -z "$collector" ] || kill -TERM "$collector" 2>/dev/null; rm -rf "$T"; }
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
# Without the write-ahead log, which the end of the recording takes away.
bytes() { sqlite3 -readonly "$R" 'SELECT page_count * page_size FROM pragma_page_count, pragma_page_size' 2>/dev/null; }
# torch_PID_..., of the job and of all workers that it had.
shm_names() {
    { echo "$job"; pgrep -P "$job"; } | sed 's/.*/_&_/' >>"$T/pids"
    sort -u -o "$T/pids" "$T/pids"
    find /dev/shm -mindepth 1 -printf '%f\n' 2>/dev/null | grep -cFf "$T/pids"
}
columns="seconds epoch collector_kib job_kib collector_files job_files session_files shm_names recording_bytes"
tr ' ' '\t' <<<"$columns" >"$keep"
began=$SECONDS
while kill -0 "$job" 2>/dev/null && [ $((SECONDS - began)) -lt $((minutes * 60)) ]; do
    row="$((SECONDS - began)) $(grep -c '^epoch' "$T/out") $(kib "$collector") $(kib "$job") $(count "/proc/$collector/fd") $(count "/proc/$job/fd") $(count "$R.rings") $(shm_names) $(bytes)"
    [ "$(wc -w <<<"$row")" -ne 9 ] || tr ' ' '\t' <<<"$row" >>"$keep" # less: it has just ended
    sleep 2
done
kill -TERM "$job" 2>/dev/null # a job of a script in the background ignores SIGINT
wait "$collector"
status=$?
collector=
echo "$(grep -c '^epoch' "$T/out") epochs of 8 batches, $workers workers that start anew, in $((SECONDS - began)) s; exit status $status"
lost=$("$PP" report --json "$R" 2>/dev/null | grep -o '"spans_lost":[0-9]*' | head -n 1)
echo "${lost:+$lost, }$(sqlite3 "$R" "SELECT count(*) || ' threads, ' || (SELECT value FROM meta WHERE section = 'run' AND key = 'spans') || ' spans, ' || (SELECT count(*) FROM meta WHERE section = 'process_note') || ' notes' FROM thread")"

awk -F'\t' -v workers="$workers" '
NR == 1 { for (i = 1; i <= NF; i++) name[i] = $i; next }
{ n++; for (i = 1; i <= NF; i++) v[n, i] = $i }
function quarter(q, i, least,   k, m, all) { # the median, or the smallest, of the q-th quarter of the epochs
    m = 0
    for (k = 1; k <= n; k++)
        if (v[k, 2] >= v[n, 2] * (q - 1) / 4 && v[k, 2] <= v[n, 2] * q / 4) all[++m] = v[k, i]
    return !m ? -1 : least ? sorted(all, m, 1) : sorted(all, m, int((m + 1) / 2))
}
function sorted(a, m, at,   i, j, t) {
    for (i = 2; i <= m; i++) for (j = i; j > 1 && a[j - 1] > a[j]; j--) { t = a[j]; a[j] = a[j - 1]; a[j - 1] = t }
    return a[at]
}
function slope(q, i, per,   k, a, b) { # of column i per unit of another, over the q-th quarter
    for (k = 1; k <= n; k++) if (v[k, 2] >= v[n, 2] * (q - 1) / 4 && v[k, 2] <= v[n, 2] * q / 4) { if (!a) a = k; b = k }
    return a && v[b, per] > v[a, per] ? (v[b, i] - v[a, i]) / (v[b, per] - v[a, per]) : -1
}
function row(what, before, after, most) {
    printf "%-26s %14.1f %14.1f   at most %14.1f  %s\n", what, before, after, most, after <= most ? "flat" : "GROWS"
    grows += !(after <= most)
    unknown += before < 0 || after < 0
}
END {
    if (n < 16 || v[n, 2] < 40) { print "too short to tell: " n + 0 " looks, " v[n, 2] + 0 " epochs"; exit 2 }
    printf "%-26s %14s %14s\n", "", "second quarter", "last quarter"
    for (i = 3; i <= 4; i++) { b = quarter(2, i, 0); row(name[i], b, quarter(4, i, 0), b * 1.05 + 4096) }
    for (i = 5; i <= 8; i++) { b = quarter(2, i, 1); row(name[i], b, quarter(4, i, 1), b + 2 + (i == 6 ? 2 * workers : i == 7 ? workers : 0)) }
    b = slope(2, 9, 1); row("recording bytes per second", b, slope(4, 9, 1), b * 1.1 + 1024)
    printf "%-26s %14.1f %14.1f\n", "recording bytes per epoch", slope(2, 9, 2), slope(4, 9, 2)
    b = 1000 * slope(2, 1, 2); row("ms per epoch", b, 1000 * slope(4, 1, 2), b * 1.5)
    exit unknown ? 2 : grows > 0
}' "$keep"
