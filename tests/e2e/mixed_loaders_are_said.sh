#!/bin/bash
# What a report mixes it says in a sentence: loaders of two kinds in one job, a pool of threads that does other work too, several threads that
# train, and a framework whose inside has other names. The job ends as it would, and the training thread with most batches is the judged one.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
PYTHON=${PYTHON:-/usr/bin/python3} R=$T/run.sqlite
[ -e "$BUILD/python/attach/_pipeprobe.abi3.so" ] || skip_all "the extension is not built: no Python.h"
imports "$PYTHON" torch || skip_all "$PYTHON has no torch"
said() { sqlite3 :memory: "SELECT json_extract(value, '\$.sentence') FROM json_each(CAST(readfile('$OUT') AS TEXT), '\$.findings') WHERE json_extract(value, '\$.kind') = '$1' AND json_extract(value, '\$.state') = 'found'"; }
recorded() { # KIND
    run timeout 120 "$PP" exec -q --force -o "$R" -- "$PYTHON" tests/jobs/mixed_loaders.py "$1"
    is "$1: exit status, output, standard error" "$rc $(tail -n 1 "$OUT") $(cat "$ERR")" "0 done "
    run "$PP" report --json "$R"
}
recorded between
like "two kinds by turns" "$(said mixed-loaders)" '^besides the batches of the DataLoader, about [56][0-9] of another loader or a loop of the job.s own were taken .(29|3[01]) judged together with those, (2[0-9]|3[01]) not judged.: record the job without the DataLoader for these$'
recorded beside
like "two kinds in each step" "$(said mixed-loaders)" '^besides the batches of the DataLoader, about [34][0-9] of another loader or a loop of the job.s own were taken .[34][0-9] not judged.: '
for kind in handed pools; do
    recorded $kind
    is "$kind: nothing is mixed" "$(said mixed-loaders)" ""
done
recorded callable
is "a pool that calls objects too" "$(said mixed-loaders)" "a pool of threads runs sample (160 tasks) and Pr\xfcfer (40 tasks): all count as making batches; give other work a pool of its own"
recorded pool
is "a pool that does other work" "$(said mixed-loaders)" "a pool of threads runs sample (160 tasks) and write_log (40 tasks): all count as making batches; give other work a pool of its own"
recorded threads
like "several threads that train" "$(said mixed-loaders)" '^3 threads took batches: the one that took most, (79|80) of them, is judged, and the rate is its own$'
run "$PP" report --full "$R"
like "in the report" "$(tr -s ' \n' ' ' <"$OUT")" '3 threads took batches: the one that took most, [0-9]+ of them, is judged'

# A Grain whose inside has other names.
mkdir -p "$T/site/grain/_src/python/dataset"
touch "$T/site/grain/__init__.py" "$T"/site/grain/_src/{,python/,python/dataset/}{__init__,stats}.py
export PYTHONPATH=$T/site
recorded unfit
like "a framework without hooks that fit" "$(said partly-recorded)" '^grain._src.python.dataset.stats is not recorded \(batches, stages\): AttributeError'
is "beside it no loader is mixed" "$(said mixed-loaders)" ""
echo 'import grain._src.python.dataset.stats; print(sum(range(9)))' >"$T/train.py"
run timeout 60 "$PP" exec --force -o "$R" -- "$PYTHON" "$T/train.py"
is "nothing of it is recorded: exit status and output" "$rc $(cat "$OUT")" "0 36"
like "what, on what, why and what to try" "$(tr -s ' \n' ' ' <"$ERR")" 'train.py uses Grain, whose batches exec did not time, so nothing was recorded: grain._src.python.dataset.stats is not recorded \(batches, stages\): AttributeError.*What works: record the job with jax.profiler'
# One that is imported only, beside a hook that does not fit.
mkdir "$T/site/ffcv" "$T/site/joblib"
touch "$T/site/ffcv/__init__.py" "$T"/site/joblib/{__init__,parallel}.py
echo 'import torch.utils.data, ffcv, joblib.parallel; print(1)' >"$T/train.py"
run timeout 60 "$PP" exec --force -o "$R" -- "$PYTHON" "$T/train.py"
is "imported only: exit status and output" "$rc $(cat "$OUT")" "0 1"
like "what the hooks noted is said" "$(tr -s ' \n' ' ' <"$ERR")" 'nothing of .* was recorded: joblib.parallel is not recorded'
done_testing
