# tests/verify.sh: a job that is recorded, and `pipeprobe verify` of it when it was edited. Sourced behind lib.sh by the scripts that judge the answers; they
# run in $T then.
PYTHON=${PYTHON:-/usr/bin/python3}
if [ ! -e "$PWD/$BUILD/python/attach/_pipeprobe.abi3.so" ]; then skip "changes are verified" "the extension is not built: no Python.h"; done_testing; fi
if ! imports "$PYTHON" torch; then skip "changes are verified" "$PYTHON has no torch"; done_testing; fi
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
