#!/bin/bash
# pipeprobe resume-test on a job that resumes right, and with each of its faults (tests/jobs/killed.py): the culprit, the first batch, the numbers of samples.
# PYTHON names the interpreter.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
PYTHON=${PYTHON:-/usr/bin/python3}
JOB=$PWD/tests/jobs/killed.py
cd "$T" || exit 1

if [ ! -e "$OLDPWD/$BUILD/python/attach/_pipeprobe.abi3.so" ]; then skip_all "the extension is not built: no Python.h"; fi
if ! imports "$PYTHON" torch; then skip_all "$PYTHON has no torch"; fi

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
done_testing
