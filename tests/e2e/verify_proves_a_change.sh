#!/bin/bash
# `pipeprobe verify`: a change that gains is fixed, one that gains by doing less is not comparable, whatever it gains.
# asleep
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
PYTHON=${PYTHON:-/usr/bin/python3}
if [ ! -e "$PWD/$BUILD/python/attach/_pipeprobe.abi3.so" ]; then skip "changes are verified" "the extension is not built: no Python.h"; done_testing; fi
if ! "$PYTHON" -c 'import torch' 2>/dev/null; then skip "changes are verified" "$PYTHON has no torch"; done_testing; fi
cat >"$T/train.py" <<'PY'
import time

import torch
from torch.utils.data import DataLoader, Dataset


class Slow(Dataset):
    def __len__(self):
        return 16000

    def __getitem__(self, i):
        time.sleep(0.003)
        return torch.zeros(3)


loader = DataLoader(Slow(), batch_size=8, num_workers=1)
for batch in loader:
    time.sleep(0.012)
PY
cd "$T" || exit 1
run timeout 60 "$PP" exec -q --duration 3s -o run.sqlite -- "$PYTHON" train.py
is "recorded" "$rc" 0
verify() { # NAME SED [options]: verifies the job edited so
    sed "$2" train.py >"$1.py"
    run timeout 240 "$PP" verify run.sqlite --yes -q -d 1500ms --max-runs 4 --json -o "$T/$1" "${@:3}" -- "$PYTHON" "$1.py"
}
outcome() { json "$OUT" '$.outcome'; }
differs() { sqlite3 :memory: "SELECT group_concat(json_extract(value, '\$.code')) FROM json_each(CAST(readfile('$OUT') AS TEXT), '\$.same_work') WHERE NOT json_extract(value, '\$.same')"; }

verify more 's/num_workers=1/num_workers=8/' --change c1
is "more workers" "$rc $(outcome)" "0 fixed"
holds "measured and predicted" "$(json "$OUT" '$.measured.low') > 0.3 && $(json "$OUT" '$.predicted.gain') > 0.3"
is "four recordings" "$(ls more/*.sqlite | wc -l)" 4
is "the arguments were put back" "$(sql more/02-before.sqlite "SELECT value FROM meta WHERE section = 'config' AND key = 'num_workers'")" 1

# Faster, and less work (each kind of less: test_verify_work).
verify batch 's/num_workers=1/num_workers=8/; s/batch_size=8/batch_size=2/'
is "a smaller batch" "$rc $(outcome) $(differs)" "1 not-comparable batch_size,batch_bytes"
verify transform 's/sleep(0.003)/sleep(0.0005)/'
is "a transform left out" "$rc $(outcome) $(differs)" "1 not-comparable sample_work"
verify cached 's/    def __getitem__(self, i):/    kept = None\n\n    def __getitem__(self, i):\n        if self.kept is not None:\n            return self.kept/; s/return torch.zeros(3)/self.kept = torch.zeros(3)\n        return self.kept/'
is "a sample that is kept" "$rc $(outcome) $(differs)" "1 not-comparable sample_work"

# With a command that runs it as it was, less work may be the change; it is never called fixed.
verify faster 's/sleep(0.003)/sleep(0.0005)/' --before "$PYTHON train.py"
is "a faster transform" "$rc $(outcome) $(differs)" "0 improved sample_work"
like "nothing is put back" "$(sql faster/02-before.sqlite "SELECT group_concat(key) FROM meta WHERE section = 'tune'")" "^(ended|signal|,)*$"

verify broken 's/num_workers=1/num_workers=-1/'
is "a job that fails" "$rc $(outcome)" "4 job-failed"
refuses "no change" 2 "make the change first" "$PP" verify run.sqlite --yes -q -d 1s -o "$T/same" -- "$PYTHON" train.py
refuses "no question can be asked" 2 "give --yes" "$PP" verify run.sqlite -- "$PYTHON" train.py
refuses "no recording" 2 "name the recording" "$PP" verify -- "$PYTHON" train.py
refuses "no such change" 2 "c1 to c" "$PP" verify run.sqlite --change c77 --yes -- "$PYTHON" train.py
run timeout 240 "$PP" verify run.sqlite --yes -q -d 1s --max-runs 2 --md -o "$T/md" -- "$PYTHON" more.py
like "Markdown" "$(cat "$OUT")" "\| samples/s \| [0-9.,]+ \| [0-9.,]+ \|"
done_testing
