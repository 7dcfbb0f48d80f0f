#!/bin/bash
# A job with seven DataLoaders: each is known by the line that makes it and by its variable, has batches, epochs and a rate of its own, and can be judged
# by its name; the slow samples are known by their files.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
PYTHON=${PYTHON:-/usr/bin/python3}
if [ ! -e "$PWD/$BUILD/python/attach/_pipeprobe.abi3.so" ]; then skip "loaders have their places" "the extension is not built: no Python.h"; done_testing; fi
if ! imports "$PYTHON" torch; then skip "loaders have their places" "$PYTHON has no torch"; done_testing; fi
mkdir -p "$T/site-packages"
cat >"$T/site-packages/library.py" <<'PY'
from torch.utils.data import DataLoader


def again(loader):
    return DataLoader(loader.dataset, batch_size=loader.batch_size)


def loader_of(data):
    return DataLoader(data, batch_size=4)
PY
line() { grep -n "# place: $1" tests/jobs/loaders.py | cut -d: -f1; }
PYTHONPATH=$T/site-packages run timeout 120 "$PP" exec -q -o "$T/job.sqlite" -- "$PYTHON" tests/jobs/loaders.py
is "exit status" "$rc" 0
loaders() { sql "$T/job.sqlite" "SELECT group_concat(place || ' ' || name, ', ') FROM (SELECT p.value AS place, ifnull(n.value, '-') AS name FROM meta p LEFT JOIN meta n ON n.section = 'loader_name' AND n.key = p.key WHERE p.section = 'loader_place' ORDER BY CAST(substr(p.key, instr(p.key, '.') + 1) AS INTEGER))"; }
at=tests/jobs/loaders.py
returns=$(grep -n 'return DataLoader' $at | cut -d: -f1)
is "places and variables" "$(loaders)" "$at:$(line train) train_loader, $at:$(line subclass) loaders['test'], $at:$(line plain) plain, $at:$(line library) made, $at:$(line tar) tar, $at:$returns val_dataloader(), $at:$(line anew) -"
run "$PP" report --json "$T/job.sqlite"
of() { sqlite3 :memory: "SELECT json_extract(value, '\$.$2') FROM json_each(CAST(readfile('$OUT') AS TEXT), '\$.loaders') WHERE json_extract(value, '\$.name') = '$1' OR json_extract(value, '\$.place') = '$1'"; }
is "epochs and batches of the first" "$(of train_loader epochs) $(of train_loader batches)" "3 30"
is "of the one that is made anew" "$(of "$at:$(line anew)" epochs) $(of "$at:$(line anew)" batches)" "3 12"
holds "a loader's rate is that of its own batches" "$(of made samples_per_s) > $(of tar samples_per_s)"
is "epochs of all" "$(json "$OUT" '$.epochs')" 21
run "$PP" report --full "$T/job.sqlite"
like "the table has them" "$(cat "$OUT")" "train_loader +tests/.*|train_loader .*loaders.py:$(line train)"
like "the workers have theirs" "$(grep -A1 "  worker 1 " "$OUT")" "loader train_loader"
like "epochs of all are not of one" "$(cat "$OUT")" "21 epochs of 7 loaders"
run "$PP" report --json --loader train_loader "$T/job.sqlite"
is "another can be judged" "$(json "$OUT" '$.config.num_workers') $(of train_loader judged) $(of tar judged)" "2 1 0"
if [ -n "$(json "$OUT" '$.verdict.python')" ]; then is "a line to paste has its place" "$(json "$OUT" '$.verdict.python_at')" "loaders.py:$(line train) (train_loader)"; fi
is "its slowest sample" "$(json "$OUT" '$.slow_samples[0].name') $(json "$OUT" '$.slow_samples[0].sample')" "b/0007.jpg 12"
is "it is slow each time" "$(json "$OUT" '$.slow_samples[0].slow_visits')" "$(json "$OUT" '$.slow_samples[0].visits')"
run "$PP" report --json --loader tar "$T/job.sqlite"
is "a stream's, by its tar file" "$(json "$OUT" '$.slow_samples[0].name')" "shards/a.tar/0013"
run "$PP" whatif "$T/job.sqlite" --loader train_loader
is "what-if of one loader" "$rc" 0
like "it says which" "$(cat "$OUT")" "of the DataLoader at loaders.py:$(line train) \(train_loader\)"
run "$PP" whatif "$T/job.sqlite" --loader nobody
is "a name that no loader has" "$rc" 2
like "those that there are" "$(cat "$ERR")" "train_loader at $at:$(line train)"
# Two loaders in turns, of one epoch and of six: an epoch does not begin with each turn.
cat >"$T/turns.py" <<'PY'
import torch
from torch.utils.data import DataLoader, TensorDataset
short = DataLoader(TensorDataset(torch.zeros(40, 2)), batch_size=4)
turn = iter(short)
for x in DataLoader(TensorDataset(torch.zeros(240, 2)), batch_size=4, num_workers=1):
    y = next(turn, None)
    if y is None:
        turn = iter(short)
        next(turn)
PY
run timeout 120 "$PP" exec -q -o "$T/turns.sqlite" -- "$PYTHON" "$T/turns.py"
run "$PP" report --full "$T/turns.sqlite"
like "one epoch and six" "$(cat "$OUT")" "7 epochs of 2 loaders"
# Our own loader's data sets know their files.
run "$PP" run -q --synthetic n=100,size=100x100..1600x1200 --step-ms 1 -b 4 -w 2 --epochs 12 -o "$T/own.sqlite"
run "$PP" report --json "$T/own.sqlite"
is "slow samples of our loader have names" "$(sqlite3 :memory: "SELECT count(*) > 0 FROM json_each(CAST(readfile('$OUT') AS TEXT), '\$.slow_samples')")" 1
is "each its own" "$(sqlite3 :memory: "SELECT count(*) FROM json_each(CAST(readfile('$OUT') AS TEXT), '\$.slow_samples') WHERE json_extract(value, '\$.name') IS NOT 'synthetic:' || json_extract(value, '\$.sample')")" 0
done_testing
