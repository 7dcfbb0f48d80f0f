#!/bin/bash
# exec as a container starts it: process 1 of its own PID namespace, no terminal and no /dev/pts, a root directory that is read-only, no HOME, and where root
# makes the container another user. TMPDIR is in /dev/shm: without any, the workers of torch itself hang. The job is the same, and the first screen too; `docker stop` (SIGTERM to process 1) ends both in order.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
PYTHON=${PYTHON:-/usr/bin/python3}
case $BUILD in *address*|*thread*) skip_all "a sanitizer's library cannot be loaded into Python" ;; esac
imports "$PYTHON" torch || skip_all "$PYTHON has no torch"
command -v pgrep >/dev/null || skip_all "no pgrep"
as=(unshare -m -p -f --kill-child) user=(--userspec=65534:65534)
[ "$(id -u)" -eq 0 ] || as=(unshare -U -r -m -p -f --kill-child) user=()
cat >"$T/inside.sh" <<'E2'
# inside.sh ROOT DIRECTORY PROGRAM ...: of /dev five files and an empty shm. The last step takes this shell's place: PROGRAM is process 1.
set -e
root=$1 dir=$2
shift 2
mount --rbind / "$root" && mount -o remount,ro,bind "$root"
mount -t tmpfs none "$root/dev" && mkdir "$root/dev/shm" && chmod 1777 "$root/dev/shm"
for f in null zero full random urandom; do touch "$root/dev/$f" && mount --bind "/dev/$f" "$root/dev/$f"; done
mount -t proc proc "$root/proc"
mount --bind "$dir" "$root$dir"
exec chroot $USERSPEC "$root" /usr/bin/env -i PATH=/usr/bin:/bin TMPDIR=/dev/shm sh -c 'cd "$0" && exec "$@"' "$dir" "$@" </dev/null
E2
mkdir "$T/root" "$T/job"
chmod 755 "$T" "$T/root" && chmod 777 "$T/job"
contain() { USERSPEC=${user[*]} run timeout -k 5 100 setsid "${as[@]}" sh "$T/inside.sh" "$T/root" "$@"; }
PP=$(realpath "$PP") job=("$PYTHON" "$PWD/tests/jobs/counted.py" --batches 400 --sample-ms 2 --step-ms 2)
contain "$T/job" sh -c 'echo $$; ls /dev; touch /x 2>&1; (: </dev/tty) 2>&1'
[ $rc -eq 0 ] || grep -q '^1$' "$OUT" || skip_all "no namespaces here: $(head -n 1 "$ERR")"
is "the container: process 1, five devices, read-only, no terminal" "$(grep -c -e '^1$' -e '^pts' -e Read-only -e '/dev/tty' "$OUT") $(grep -c '^pts' "$OUT")" "3 0"
contain "$T/job" test -r "$PP" || skip_all "another user cannot read $PP"
[ $rc -eq 0 ] || skip_all "another user cannot read $PP"

contain "$T/job" "$PP" exec "${job[@]}"
is "the job's status and output" "$rc $(grep -c '^batch' "$OUT")" "0 400"
name=$(cd "$T/job" && ls pipeprobe-*.sqlite)
is "it says where it records" "$(head -n 1 "$ERR")" "pipeprobe exec: recording into $name; live: pipeprobe top $name"
like "the first screen" "$(tr '\n' ' ' <"$ERR")" "Training runs at [0-9.,]+ samples/s and waits|INCONCLUSIVE: "
is "no colour, no cursor" "$(grep -c "$(printf '\033')" "$ERR")" 0
is "all batches are in it" "$(sql "$T/job/$name" "SELECT count FROM v_phase_summary WHERE phase = 'data_wait'") $(ls -d "$T"/job/*.rings 2>/dev/null | wc -l)" "400 0"
contain "$T/job" "$PP" report
like "report, there" "$rc $(head -n 1 "$OUT")" "^[03] $name: the job counted.py"
contain "$T/job" "$PP" exec --top "${job[@]}"
is "--top: one sentence, and nothing is started" "$rc $(wc -l <"$ERR") $(grep -c '^batch' "$OUT")" "125 1 0"

chmod 755 "$T/job"
[ "$(id -u)" -eq 0 ] && {
    contain "$T/job" "$PP" exec -o no.sqlite "${job[@]}"
    is "no place to write: the job is the same" "$rc $(grep -c '^batch' "$OUT")" "0 400"
    like "and it is said" "$(cat "$ERR")" "runs unrecorded: .*no.sqlite"
}
chmod 777 "$T/job"

# docker stop
job[3]=100000
USERSPEC=${user[*]} setsid "${as[@]}" sh "$T/inside.sh" "$T/root" "$T/job" "$PP" exec -o stopped.sqlite "${job[@]}" >"$T/stop.out" 2>"$T/stop.err" &
outer=$!
for ((i = 0; i < 300; i++)); do [ "$(grep -c '^batch' "$T/stop.out")" -ge 40 ] && break; sleep 0.2; done
first=$(pgrep -P "$outer" -f "exec -o stopped.sqlite" | head -n 1)
check "it runs" test -n "$first"
if [ -n "$first" ]; then kill -TERM "$first"; else kill -KILL -- "-$outer"; fi # with all that is in it
wait "$outer"
check "SIGTERM ends it" test $? -ne 0
run "$PP" report "$T/job/stopped.sqlite"
like "its recording says so" "$(cat "$OUT")" "INTERRUPTED after [0-9,]+ batches.*SIGTERM"
is "nothing is left beside it" "$(ls -d "$T"/job/stopped.sqlite?* 2>/dev/null | wc -l)" 0
done_testing
