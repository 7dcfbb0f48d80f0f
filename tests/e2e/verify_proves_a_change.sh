#!/bin/bash
# `pipeprobe verify`: a change that gains is fixed; what cannot be compared or asked is refused.
# asleep
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
. tests/verify.sh

verify more 's/num_workers=1/num_workers=8/' --change c1
is "more workers" "$rc $(outcome)" "0 fixed"
holds "measured and predicted" "$(json "$OUT" '$.measured.low') > 0.3 && $(json "$OUT" '$.predicted.gain') > 0.3"
is "four recordings" "$(ls more/*.sqlite | wc -l)" 4
is "the arguments were put back" "$(sql more/02-before.sqlite "SELECT value FROM meta WHERE section = 'config' AND key = 'num_workers'")" 1

verify broken 's/num_workers=1/num_workers=-1/'
is "a job that fails" "$rc $(outcome)" "4 job-failed"
refuses "no change" 2 "make the change first" "$PP" verify run.sqlite --yes -q -d 1s -o "$T/same" -- "$PYTHON" train.py
refuses "no question can be asked" 2 "give --yes" "$PP" verify run.sqlite -- "$PYTHON" train.py
refuses "no recording" 2 "name the recording" "$PP" verify -- "$PYTHON" train.py
refuses "no such change" 2 "c1 to c" "$PP" verify run.sqlite --change c77 --yes -- "$PYTHON" train.py
run timeout 240 "$PP" verify run.sqlite --yes -q -d 1s --max-runs 2 --md -o "$T/md" -- "$PYTHON" more.py
like "Markdown" "$(cat "$OUT")" "\| samples/s \| [0-9.,]+ \| [0-9.,]+ \|"
done_testing
