#!/bin/bash
# One recording in every form (first screen, table, what-if, dashboard, JSON, Markdown, page, answer): one data wait, no mean above its maximum, AU only where there
# is a device, and what is more than twice as much as a factor.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
PYTHON=${PYTHON:-/usr/bin/python3}
whole() { python3 -c "v = 100 * $1; print(f'{v:.{2 if v < 0.995 else 1 if v < 9.95 or 99.5 <= v < 99.95 else 0}f} %')"; } # as pp_text_share
one_voice() { # NAME FILE DEVICE
    run "$PP" report --json "$2"
    wait=$(json "$OUT" '$.data_wait_share')
    text=$(whole "$wait")
    is "$1: AU with a device only" "$([ -n "$(json "$OUT" '$.accelerator_utilization_share')" ] && echo 1 || echo 0)" "$3"
    is "$1: no mean is above its maximum" "$(sqlite3 :memory: "SELECT count(*) FROM json_each(CAST(readfile('$OUT') AS TEXT), '\$.phases') WHERE json_extract(value, '\$.mean_ns') > json_extract(value, '\$.max_ns')")" 0
    run "$PP" report "$2"
    like "$1: first screen" "$(tr '\n' ' ' <"$OUT")" "(for data $text of the time|$text of the time for data|waits $text)"
    run "$PP" report --full "$2"
    cp "$OUT" "$T/full"
    is "$1: AU in the text" "$(grep -c 'accelerator utilisation' "$T/full")" "$3"
    run "$PP" whatif --set copy=1 "$2"
    like "$1: a change of nothing" "$(cat "$OUT")" "stall $(python3 -c "print(f'{100 * $wait:.1f} %')")|change nothing|as recorded"
    run "$PP" report -o "$T/r.md" --force "$2"
    like "$1: Markdown" "$(cat "$T/r.md")" "$(python3 -c "print(f'{100 * $wait:.1f} %')")"
    run "$PP" report -o "$T/r.html" --force "$2"
    like "$1: page" "$(cat "$T/r.html")" "$(python3 -c "print(f'{100 * $wait:.1f}')")"
    run "$PP" top --once --size 120x30 "$2"
    like "$1: dashboard's verdict" "$(head -5 "$OUT")" "(^|[^0-9.])${text//./[.]}" # below what it is short of, or what to do
    is "$1: its AU" "$(head -12 "$OUT" | grep -c 'AU ')" "$3"
    cat "$T/full" "$T/r.md" "$OUT" >"$T/all"
    is "$1: no gain above +100 %" "$(grep -cE '[+](1[0-9][1-9]|1[1-9]0|[2-9][0-9]{2}|[0-9,]{4,}) %' "$T/all")" 0
}
run "$PP" run -q --synthetic n=2000,size=300x300 -b 8 -w 1 --step-ms 4 --duration 4 -o "$T/own.sqlite"
one_voice "own loader" "$T/own.sqlite" 1
if [ -e "$PWD/$BUILD/python/attach/_pipeprobe.abi3.so" ] && imports "$PYTHON" torch; then
    cat >"$T/job.py" <<'PY'
import time
import torch
from torch.utils.data import DataLoader, Dataset


class Slow(Dataset):
    def __len__(self):
        return 400

    def __getitem__(self, i):
        end = time.thread_time() + 0.002
        while time.thread_time() < end:
            pass
        return torch.zeros(3)


begin = time.monotonic()
for epoch in range(100):
    for x in DataLoader(Slow(), batch_size=8, num_workers=1):
        time.sleep(0.002)
        if time.monotonic() - begin > 5:
            raise SystemExit
PY
    run timeout 120 "$PP" exec -q -o "$T/job.sqlite" -- "$PYTHON" "$T/job.py"
    one_voice "job" "$T/job.sqlite" 0
fi
done_testing
