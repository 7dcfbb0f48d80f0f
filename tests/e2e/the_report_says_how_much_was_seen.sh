#!/bin/bash
# What the hooks could not see is in the report: reads that are not timed by themselves, hooks that do not fit, a recorder that switched itself off; and of
# several DataLoaders which one the verdict is about.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
PYTHON=${PYTHON:-/usr/bin/python3} R=$T/run.sqlite
[ -e "$BUILD/python/attach/_pipeprobe.abi3.so" ] || skip_all "the extension is not built: no Python.h"
imports "$PYTHON" 'torch, torchvision' || skip_all "$PYTHON has no torch and torchvision"
"$MAKE_DATASET" "$T/images" --n 60 --classes 3 --size 160x120 >/dev/null
export PYTHONHASHSEED=0
row() { sql :memory: "SELECT json_extract(value, '\$.$2') FROM json_each(CAST(readfile('$OUT') AS TEXT), '\$.findings') WHERE json_extract(value, '\$.kind') = '$1'"; }
report() { run timeout 60 "$PP" report --json "$R"; }

"$PP" exec -q -f -o "$R" -- "$PYTHON" tests/jobs/images.py "$T/images" --epochs 1 >"$T/plain.out" 2>&1
report
is "all of it: state, and what with" "$(row partly-recorded state): $(row partly-recorded sentence)" "not-found: the job was recorded with hooks and reads, and every hook fits"
is "one loader: nothing of several" "$(row several-loaders state) $(json "$OUT" '$.loaders[0].judged') $(json "$OUT" '$.loaders[0].batches')" " 1 8"

run timeout 120 "$PP" exec -q -f --no-reads -o "$R" -- "$PYTHON" tests/jobs/images.py "$T/images" --epochs 1
is "--no-reads: the job's output" "$rc $(grep -v waited "$OUT")" "0 $(grep -v waited "$T/plain.out")"
report
like "--no-reads: said" "$(row partly-recorded state): $(row partly-recorded sentence)" "^found: reads are not timed by themselves"
is "--no-reads: no phase read" "$(sql :memory: "SELECT count(*) FROM json_each(CAST(readfile('$OUT') AS TEXT), '\$.phases') WHERE json_extract(value, '\$.phase') = 'read'")" 0
run timeout 60 "$PP" report "$R"
like "--no-reads: in the short report" "$(tr -s ' \n' ' ' <"$OUT")" "reads are not timed by themselves"

# An error of ours in the middle of the job: off for good, one row, the job as it would be. PyTorch's own seed is another thing than the hooks expect.
mkdir "$T/site"
cat >"$T/site/sitecustomize.py" <<'P'
import importlib.machinery as machinery, sys
class Loader(machinery.SourceFileLoader):
    def path_stats(self, path):
        raise OSError("no cache")
    def set_data(self, *args, **kwargs):
        pass
    def source_to_code(self, data, path, **kwargs):
        return super().source_to_code(data.replace(b"._base_seed", b"._seed_of"), path, **kwargs)
class Finder:
    def find_spec(self, name, path=None, target=None):
        spec = machinery.PathFinder.find_spec(name, path) if name == "torch.utils.data.dataloader" else None
        if spec is not None:
            spec.loader = Loader(name, spec.origin)
        return spec
sys.meta_path.insert(1, Finder())
P
PYTHONPATH=$T/site "$PYTHON" tests/jobs/images.py "$T/images" --epochs 2 >"$T/plain.out" 2>"$T/plain.err"
is "an error of ours: the job without us" "$? $(cat "$T/plain.err")" "0 "
PYTHONPATH=$T/site run timeout 120 "$PP" exec -q -f -o "$R" -- "$PYTHON" tests/jobs/images.py "$T/images" --epochs 2
is "an error of ours: exit status and output" "$rc $(grep -v waited "$OUT")" "0 $(grep -v waited "$T/plain.out")"
is "an error of ours: one row" "$(sql "$R" "SELECT count(*) FROM meta WHERE section = 'process_note'")" 1
like "an error of ours: which" "$(sql "$R" "SELECT value FROM meta WHERE section = 'process_note'")" "off: AttributeError in _iterator_made"
is "an error of ours: no batch is recorded after it" "$(sql "$R" "SELECT count(*) FROM v_span WHERE phase = 'data_wait'")" 0

# A fast training loader, a slow one for validation, of the same type and with as many workers, each with their start: the wait is the second's.
run timeout 120 "$PP" exec -q -f -o "$R" -- "$PYTHON" tests/jobs/counted.py --batches 240 --sample-ms 0 --step-ms 4 --slow-validation 25
is "two loaders: the job" "$rc" 0
report
is "two loaders: each with its batches" "$(sql :memory: "SELECT group_concat(json_extract(value, '\$.samples') || ' ' || json_extract(value, '\$.batches'), ', ') FROM json_each(CAST(readfile('$OUT') AS TEXT), '\$.loaders')")" "100000 240, 40 60"
judged holds "two loaders: whose wait it is" "$(json "$OUT" '$.loaders[1].wait_share') > 3 * $(json "$OUT" '$.loaders[0].wait_share') && $(json "$OUT" '$.loaders[0].data_wait_s') < 1"
is "two loaders: the verdict is about the slow one" "$(json "$OUT" '$.loaders[0].judged') $(json "$OUT" '$.loaders[1].judged') $(json "$OUT" '$.config.dataset_samples')" "0 1 40"
like "two loaders: said" "$(row several-loaders state): $(row several-loaders sentence)" "^found: 2 DataLoaders were iterated: the training thread waited [0-9.]+ s for 60 batches of the one at counted.py:[0-9]+ .num_workers=2, batch_size=4., and [0-9.]+ m?s for 240 batches of the one at counted.py:[0-9]+ .loader."
judged is "two loaders: its cause is that loader's, whose samples sleep" "$(json "$OUT" '$.verdict.l1')/$(json "$OUT" '$.verdict.l2')" "loader/blocked"
judged holds "two loaders: its workers explain the wait" "$(json "$OUT" '$.verdict.explained') > 0.75"
is "two loaders: samples of one are not repeats of the other's" "$(row samples-repeated state)" "not-found"
judged holds "two loaders: no change promises more than data that is always there" "$(sql :memory: "SELECT coalesce(max(json_extract(value, '\$.samples_per_s')), 0) FROM json_each(CAST(readfile('$OUT') AS TEXT), '\$.verdict.fixes')") <= 1.01 * $(json "$OUT" '$.verdict.headroom_samples_per_s')"
rate=$(json "$OUT" '$.samples_per_s')
run timeout 60 "$PP" whatif "$R" --json --set workers=4
holds "two loaders: predictions are of the whole job" "$(json "$OUT" '$.measured_samples_per_s') / $rate > 0.97 && $(json "$OUT" '$.measured_samples_per_s') / $rate < 1.03"
run timeout 60 "$PP" report "$R" --full
like "two loaders: a table" "$(cat "$OUT")" "^ *__main__.Train +[a-z/]*counted.py:[0-9]+ +2 +6 +60 "
run timeout 60 "$PP" report "$R" -o "$T/page.html"
check "two loaders: the page has them" grep -q 'DataLoaders, whole run' "$T/page.html"

# The other way round: what the workers of a fast validation loader do, and that they idle, is no part of the training loader's waits.
run timeout 120 "$PP" exec -q -f -o "$R" -- "$PYTHON" -W ignore tests/jobs/counted.py --batches 120 --sample-ms 10 --step-ms 4 --slow-validation 0.1 --validation-samples 400
is "a fast validation loader: the job" "$rc" 0
report
judged is "a fast validation loader: the cause, and whose job it is" "$(json "$OUT" '$.verdict.l1')/$(json "$OUT" '$.verdict.l2'), $(json "$OUT" '$.subject')" "loader/blocked, the job counted.py"
judged holds "a fast validation loader: the training loader's workers explain the wait" "$(json "$OUT" '$.verdict.explained') > 0.75"

# One that is made anew for each epoch is one.
run timeout 120 "$PP" exec -q -f -o "$R" -- "$PYTHON" tests/jobs/sleeps.py --workers 1 --sample-ms 2 --step-ms 2 --samples 80 --epochs 20 --again
report
is "a loader for each epoch: its batches together" "$(json "$OUT" '$.loaders[0].batches') $(json "$OUT" '$.loaders[0].epochs') $(json "$OUT" '$.loaders[1].batches') $(row several-loaders state)" "400 20  "
done_testing
