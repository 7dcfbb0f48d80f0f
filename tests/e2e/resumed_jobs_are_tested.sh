#!/bin/bash
# pipeprobe resume-test: what it refuses, asks, and cannot tell. killed_jobs_are_resumed.sh has its faults, right_jobs_are_exact.sh right jobs, and
# resumed_recordings_are_compared.sh recordings and digests. PYTHON names the interpreter.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
PYTHON=${PYTHON:-/usr/bin/python3}
JOB=$PWD/tests/jobs/killed.py RIGHT=$PWD/tests/resume/right.py
cd "$T" || exit 1

# Refusals start nothing.
refuses "without a terminal it needs --yes" 2 "give --yes" "$PP" resume-test -- sh -c "touch $T/started {dir}"
refuses "a fixed output directory" 2 "write \{dir\} where its name goes.*--reset" "$PP" resume-test --yes -- sh -c "touch $T/started"
refuses "no job" 2 "or write the job after --" "$PP" resume-test --yes
refuses "two recordings" 2 "uninterrupted run, of the run that was killed" "$PP" resume-test a.sqlite b.sqlite
refuses "a recording that is not there" 2 "a.sqlite" "$PP" resume-test a.sqlite b.sqlite c.sqlite
refuses "a program that is not there" 2 "program not found" "$PP" resume-test --yes -- "$T/nothing" {dir}
printf '#!/bin/sh\n' >"$T/sbatch" && chmod +x "$T/sbatch"
refuses "a batch system" 2 "puts the job into a queue, and it runs elsewhere.*WHOLE KILLED RESUMED" "$PP" resume-test --yes -- "$T/sbatch" job.sh {dir}
refuses "a kill at no batch" 2 "kill-at soon: the number of a batch is needed" "$PP" resume-test --yes --kill-at soon -- sh -c "touch $T/started {dir}"
for batch in 4294967296 18446744073709551615 99999999999999999999; do
    refuses "a kill at batch $batch" 2 "kill-at $batch: the number of a batch is needed, below 2\^32" "$PP" resume-test --yes --kill-at $batch -- sh -c "touch $T/started {dir}"
done
refuses "two documents at once" 2 "only one of --json" "$PP" resume-test --json --md - a.sqlite b.sqlite c.sqlite
check "nothing was started" test ! -e "$T/started"

# At a terminal it says what it will start, and asks. Output and exit status of the command behind ANSWER.
at_terminal() { # ANSWER COMMAND...
    run timeout 60 python3 -c '
import os, pty, sys
pid, fd = pty.fork()
if pid == 0:
    os.execv(sys.argv[2], sys.argv[2:])
said = b""
try:
    while True:
        said += os.read(fd, 4096)
        if said.endswith(b"[y/N] "):
            os.write(fd, sys.argv[1].encode() + b"\n")
except OSError:
    pass
print(said.decode(), "exit status", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))' "$@"
}
answered=
for answer in n y; do
    at_terminal $answer "$PP" resume-test -o "$T/asked-$answer" -- sh -c "touch $T/started-$answer; exit 7" {dir}
    answered=$answered$(tr -d '\r\n' <"$OUT")
done
like "it asks, and 'n' starts nothing" "$answered" "starts this job many times, and kills it:.*Start\? \[y/N\] n.*nothing was started.*exit status 130"
like "and 'y' starts the job" "$answered" "Start\? \[y/N\] y.*failed by itself with exit status 7.* exit status 4"
is "one was started" "$(cd "$T" && echo started*)" "started-y"

if [ ! -e "$OLDPWD/$BUILD/python/attach/_pipeprobe.abi3.so" ]; then skip "a job is killed" "the extension is not built: no Python.h"; done_testing; fi
if ! imports "$PYTHON" torch; then skip "a job is killed" "$PYTHON has no torch"; done_testing; fi

# Recipes of the guide are jobs of right.py, which `make resume-right` runs.
sed -n 's/^| .* | \(`.*`\) |$/\1/p' "$OLDPWD/docs/guide/resume.md" | tr -d '`,' | tr ' ' '\n' | sort >"$T/recipes"
is "each recipe of the guide is a job" "$(comm -23 "$T/recipes" <("$PYTHON" "$RIGHT" --list | cut -d'|' -f1 | sort))" ""
holds "there are recipes" "$(wc -l <"$T/recipes") >= 17"

# resume HOW OPTION...: the answer as JSON
resume() {
    local how=$1
    shift
    run timeout 200 "$PP" resume-test --yes --json -o "$T/$how" "$@" -- "$PYTHON" "$JOB" --out {dir} --how "$how"
}
answer() { json "$OUT" "\$.kills[0].$1"; }
right() { # NAME OPTION...
    local name=$1
    shift
    run timeout 200 "$PP" resume-test --yes --json -o "$T/$name" --kill-at 32 "$@" -- "$PYTHON" "$RIGHT" "$name" --out {dir}
}

# Bytes that vary in uninterrupted runs too; {ckpt}.
right unseeded-noise --content
like "augmentation that is not seeded is no fault of the resume" "$rc $(json "$OUT" '$.kind') $(json "$OUT" '$.note')" "^0 exact the bytes of samples differ between two uninterrupted runs as well"
right offset --resume-with "$PYTHON $RIGHT offset --out {dir}/again --ckpt {ckpt}"
is "{ckpt} is the newest checkpoint" "$rc $(json "$OUT" '$.kind') $(grep -h '^begins' "$T/offset/k1/start2.log")" "0 exact begins behind $(answer resumed_at)"
run timeout 200 "$PP" resume-test --yes -o "$T/of fset" --kill-at 32 --resume-with "$PYTHON $RIGHT offset --out '{dir}' --ckpt {ckpt}" -- "$PYTHON" "$RIGHT" offset --out {dir}
like "a path that a shell would split is not given to it" "$rc $(cat "$OUT")" "^3 It cannot be told: a shell would read more than a name in the path that \{ckpt\} stands for"

# What cannot be told.
resume never --kill-at 32
like "a job that never resumes" "$rc $(json "$OUT" '$.sentence')" "^3 It cannot be told: .*does not resume by itself: give the command that does with --resume-with"
right drops --resume-with "echo nothing left to do in {dir}"
like "a resumed run that has nothing to do" "$rc $(json "$OUT" '$.sentence')" "^3 It cannot be told: a run of the job ended by itself without a batch: nothing left to do in "
resume unsaved --kill-at 32 --junit "$T/unsaved.xml"
like "no checkpoint" "$rc $(json "$OUT" '$.sentence')" "^3 .*no checkpoint was seen in 75 batches"
like "and as JUnit" "$(tr "\n" " " <"$T/unsaved.xml")" 'tests="1" failures="0" skipped="1".*no checkpoint was seen in 75 batches'
resume unseeded --kill-at 32
like "an order that is not reproducible" "$rc $(json "$OUT" '$.sentence')" "^3 .*not reproducible even without a kill: two uninterrupted runs differ from batch 0 on"
resume fails --kill-at 32
like "a job that fails by itself" "$rc $(tail -n 1 "$ERR")" "^4 .*failed by itself with exit status 1: the loss is not a number"
resume traps --kill-at 32 --signal TERM --grace 200ms
like "a job that traps SIGTERM is killed" "$rc $(answer kill)" "^0 .*SIGTERM did not end the job within --grace"
mkdir "$T/small"
if [ "$(id -u)" -eq 0 ] && mount -t tmpfs -o size=600k tmpfs "$T/small" 2>/dev/null; then
    refuses "a full disk" 4 "could not be recorded: .*disk is full" "$PP" resume-test --yes -q -o "$T/small/t" -- "$PYTHON" "$JOB" --out {dir}
    umount "$T/small"
else
    skip "a full disk" "needs root to mount a small tmpfs"
fi
done_testing
