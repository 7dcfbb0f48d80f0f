#!/bin/bash
# pipeprobe resume-test: a job is killed and resumed, and held against its uninterrupted runs: a right one is exact, wrong ones have their culprit,
# their first batch and their numbers. What cannot be told is said. PYTHON names the interpreter.
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

# pipeprobe's own loader, stopped and resumed twice; not resumed; in another order; and with an epoch twice.
"$MAKE_DATASET" "$T/images" --n 203 --size 64x48 --classes 7 >/dev/null
own() { # NAME WORKERS OPTION...
    timeout 60 "$PP" run "$T/images" --sampler torch --batch-size 8 --transform rrc:16 --quiet --workers "$2" -o "$T/$1.sqlite" --seed 11 "${@:3}" >/dev/null 2>"$ERR"
}
own whole 2 --epochs 3
own killed 2 --steps 33 --save-state "$T/state1"
own second 3 --steps 7 --resume "$T/state1" --save-state "$T/state2"
own third 1 --epochs 3 --resume "$T/state2"
own anew 2 --epochs 3
own again 2 --epochs 3 --resume "$T/state1"
run "$PP" resume-test "$T"/{whole,killed,second,third}.sqlite
like "run --save-state and --resume" "$rc $(cat "$OUT")" "^0 Exact: behind batch 40 the resumed run has the 38 batches that the uninterrupted one has, 1 epoch behind"
run "$PP" resume-test "$T"/{whole,killed,anew}.sqlite
like "run without --resume" "$rc $(cat "$OUT")" "^3 It cannot be told: the resumed run loaded no checkpoint"
run "$PP" resume-test "$T"/{whole,killed,second,again}.sqlite
like "run with an older state" "$rc $(cat "$OUT")" "^1 Not exact: from batch 40 on .* 56 samples were used too often"
said=
for chunk in $(python3 -c 'import sqlite3; print(*(row[0] for row in sqlite3.connect("third.sqlite").execute("SELECT id FROM chunk")))'); do
    cp third.sqlite damaged.sqlite
    python3 -c "import sqlite3; db = sqlite3.connect('damaged.sqlite'); db.execute('UPDATE chunk SET checksum = checksum + 1 WHERE id = $chunk'); db.commit()"
    run "$PP" resume-test "$T"/{whole,killed,second,damaged}.sqlite
    said+="$rc $(head -n 1 "$OUT")"$'\n'
done
holds "the recording has several chunks" "$(grep -c . <<<"$said") >= 3"
is "a damaged recording is not judged, whichever chunk it is" "$(sort -u <<<"$said" | grep .)" "3 It cannot be told: of a resumed run some of its spans were lost or are damaged."

# Digests, made where the ranks ran: the same judgement by hashes of batches.
of_ranks() { # NAME OPTION...: the last word ends in the rank
    mkdir "$T/ranks-$1"
    for rank in 0 1; do own "ranks-$1/$rank" 2 --epochs 3 --rank $rank --world-size 2 ${2:+"${@:2:$(($# - 2))}" "${!#}$rank"}; done
    run "$PP" merge "$T/ranks-$1" -o "$T/$1.digest"
}
of_ranks whole
of_ranks killed --steps 16 --save-state "$T/state-"
of_ranks second --resume "$T/state-"
of_ranks early --steps 9 --save-state "$T/early-"
of_ranks other --resume "$T/early-"
run "$PP" resume-test "$T"/ranks-{whole,killed,second}
of_recordings=$(cat "$OUT")
like "two ranks are exact" "$rc $of_recordings" "^0 Exact: behind batch 16 the resumed run has"
run "$PP" resume-test "$T"/{whole,killed,second}.digest
is "and by their digests" "$rc $(cat "$OUT")" "0 $of_recordings"
run "$PP" resume-test "$T"/ranks-{whole,killed,other}
of_recordings=$(head -n 1 "$OUT" | sed 's/\. [0-9]* samples.*/./')
run "$PP" resume-test "$T"/{whole,killed,other}.digest
like "ranks with an older state" "$rc $of_recordings" "^1 Not exact: from batch 16 on \(epoch 1, batch [0-9]+\), rank 0 has other samples"
is "and by their digests, which count no samples" "$rc $(head -n 1 "$OUT")" "1 $of_recordings"
cp damaged.sqlite ranks-killed/1
python3 -c 'import sqlite3; db = sqlite3.connect("ranks-killed/1"); db.execute("INSERT OR REPLACE INTO meta VALUES(\"rank\", \"rank\", 1, NULL)"); db.commit()'
run "$PP" merge ranks-killed/1 -o unknown.digest
refuses "a digest without hashes says why" 2 "no hashes of the batches of rank 1: its samples are not known, or its batches are too many.*Name the recordings" "$PP" resume-test "$T"/{whole,unknown,second}.digest
refuses "digests beside recordings" 2 "is a digest and .* a recording: name digests of all runs" "$PP" resume-test "$T"/ranks-whole "$T"/{killed,second}.digest

if [ ! -e "$OLDPWD/$BUILD/python/attach/_pipeprobe.abi3.so" ]; then skip "a job is killed" "the extension is not built: no Python.h"; done_testing; fi
if ! "$PYTHON" -c 'import torch' 2>/dev/null; then skip "a job is killed" "$PYTHON has no torch"; done_testing; fi

# resume HOW OPTION...: the answer as JSON
resume() {
    local how=$1
    shift
    run timeout 200 "$PP" resume-test --yes --json -o "$T/$how" "$@" -- "$PYTHON" "$JOB" --out {dir} --how "$how"
}
answer() { json "$OUT" "\$.kills[0].$1"; }

resume right --kill-at 32 --junit "$T/right.xml" --md "$T/right.md"
is "a right job is exact" "$rc $(json "$OUT" '$.kind') $(answer culprit)" "0 exact "
holds "behind a checkpoint, beyond the end of the epoch" "$(answer epochs_behind) >= 1 && $(answer killed_at) >= $(answer resumed_at) && $(answer resumed_at) >= 30 && $(answer resumed_at) % 5 == 0"
like "it says before what it starts" "$(cat "$ERR")" "starts this job many times, and kills it"
like "JUnit" "$(cat "$T/right.xml")" 'tests="1" failures="0" skipped="0"'
like "Markdown" "$(cat "$T/right.md")" '^\| k1, where it was asked for \| [0-9]+ \| [0-9]+ \| exact \|'
is "what the job wrote is removed" "$(find "$T/right" -name 'ckpt*')" ""
is "and no process is left" "$(pgrep -f "$JOB --out $T/right" | wc -l)" 0

# The same judgement on the recordings.
run "$PP" resume-test "$T"/right/a/start1 "$T"/right/k1/start1 "$T"/right/k1/start2
like "recordings are judged as well" "$rc $(cat "$OUT")" "^0 Exact: behind batch [0-9]+ the resumed run has"

resume restarts --kill-at 32
like "restarted" "$rc $(answer culprit) $(answer repeated)" "^(1 restarted .*|3  )$"
resume epoch0 --kill-at 32
at=$(answer resumed_at)
is "set_epoch counts from 0" "$rc $(answer culprit) $(answer first) $(answer first_epoch) $(answer first_in_epoch)" "1 sampler-epoch $at 1 $((at - 25))"
truth=$("$PYTHON" -c "
import torch
order = lambda e: torch.randperm(200, generator=torch.Generator().manual_seed(e)).tolist()[8 * ($at - 25):]
print(len(set(order(0)) - set(order(1))))")
is "with the numbers of samples" "$(answer repeated) $(answer left_out)" "$truth $truth"
resume sticks --kill-at 32
is "an offset that stays" "$rc $(answer culprit) $(answer first)" "1 offset-sticks 50"
resume prefetched --kill-at 32
is "what was only prefetched counts as used" "$rc $(answer culprit) $(answer first) $(answer repeated)" "1 prefetched-counted $(answer resumed_at) 0"
like "by as many as the workers may be ahead" "$(answer culprit_sentence)" "goes on [1-3] (batch|batches) too far, and workers may be up to 2 ahead"

# Recipes of the guide are jobs of right.py, which `make resume-right` runs.
sed -n 's/^| .* | \(`.*`\) |$/\1/p' "$OLDPWD/docs/guide/resume.md" | tr -d '`,' | tr ' ' '\n' | sort >"$T/recipes"
is "each recipe of the guide is a job" "$(comm -23 "$T/recipes" <("$PYTHON" "$RIGHT" --list | cut -d'|' -f1 | sort))" ""
holds "there are recipes" "$(wc -l <"$T/recipes") >= 17"

# Right jobs: an optimizer's step is all that is seen, for four batches each; bytes that vary in uninterrupted runs too; {ckpt}.
right() { # NAME OPTION...
    local name=$1
    shift
    run timeout 200 "$PP" resume-test --yes --json -o "$T/$name" --kill-at 32 "$@" -- "$PYTHON" "$RIGHT" "$name" --out {dir}
}
right no-backward-accumulation
is "no backward: what an optimizer's step is made of was trained on" "$rc $(json "$OUT" '$.kind') $((x=$(answer resumed_at | grep . || echo 1), x % 26 % 8))" "0 exact 0"
# A second loader: in each step, begun anew where it ends, for validation alone; all that is taken is taken without gradients; no step at all; a thread that saves.
for name in two-loaders cycle one-looked-at preloads nothing-seen thread-saves; do
    right "$name"
    is "$name is exact, from where it says" "$rc $(json "$OUT" '$.kind') $(grep -h '^begins' "$T/$name/k1/start2.log")" "0 exact begins behind $(answer resumed_at)"
done
right unseeded-noise --content
like "augmentation that is not seeded is no fault of the resume" "$rc $(json "$OUT" '$.kind') $(json "$OUT" '$.note')" "^0 exact the bytes of samples differ between two uninterrupted runs as well"
right offset --resume-with "$PYTHON $RIGHT offset --out {dir}/again --ckpt {ckpt}"
is "{ckpt} is the newest checkpoint" "$rc $(json "$OUT" '$.kind') $(grep -h '^begins' "$T/offset/k1/start2.log")" "0 exact begins behind $(answer resumed_at)"
run timeout 200 "$PP" resume-test --yes -o "$T/of fset" --kill-at 32 --resume-with "$PYTHON $RIGHT offset --out '{dir}' --ckpt {ckpt}" -- "$PYTHON" "$RIGHT" offset --out {dir}
like "a path that a shell would split is not given to it" "$rc $(cat "$OUT")" "^3 It cannot be told: a shell would read more than a name in the path that \{ckpt\} stands for"

# What cannot be told.
resume never --kill-at 32
like "a job that never resumes" "$rc $(json "$OUT" '$.sentence')" "^3 It cannot be told: .*does not resume by itself: give the command that does with --resume-with"
resume unsaved --kill-at 32
like "no checkpoint" "$rc $(tail -n 1 "$ERR")" "^3 .*no checkpoint was seen in 75 batches"
resume unseeded --kill-at 32
like "an order that is not reproducible" "$rc $(tail -n 1 "$ERR")" "^3 .*not reproducible even without a kill: two uninterrupted runs differ from batch 0 on"
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
