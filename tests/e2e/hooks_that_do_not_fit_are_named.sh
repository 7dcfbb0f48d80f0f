#!/bin/bash
# A PyTorch whose insides have other names: the job prints and returns what it would without pipeprobe, the recording names each hook that did not
# fit, and the others go on. Names are changed in the source while it is imported, by a sitecustomize of the user's.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
PYTHON=${PYTHON:-/usr/bin/python3} R=$T/run.sqlite
[ -e "$BUILD/python/attach/_pipeprobe.abi3.so" ] || skip_all "the extension is not built: no Python.h"
imports "$PYTHON" 'torch, torchvision' || skip_all "$PYTHON has no torch and torchvision"

"$MAKE_DATASET" "$T/images" --n 60 --classes 3 --size 160x120 >/dev/null
mkdir "$T/site"
cat >"$T/site/sitecustomize.py" <<'P'
import importlib.machinery as machinery
import os
import sys

RENAMED = dict(pair.split("=") for pair in os.environ["RENAMED"].split())  # old=new
PLACES = ("torch.utils.data.dataloader", "torch.utils.data._utils.worker", "torch.utils.data._utils.pin_memory", "torch.serialization", "PIL.Image", "PIL.ImageFile")


class Loader(machinery.SourceFileLoader):
    def path_stats(self, path):
        raise OSError("no cache")

    def set_data(self, *args, **kwargs):
        pass

    def source_to_code(self, data, path, **kwargs):
        for old, new in RENAMED.items():
            data = data.replace(old.encode(), new.encode())
        return super().source_to_code(data, path, **kwargs)


class Finder:
    def find_spec(self, name, path=None, target=None):
        spec = machinery.PathFinder.find_spec(name, path) if name in PLACES else None
        if spec is not None:
            spec.loader = Loader(name, spec.origin)
        return spec


sys.meta_path.insert(1, Finder())
P
export PYTHONPATH=$T/site PYTHONHASHSEED=0

# renamed NAME "OLD=NEW..." NOTE PHASES: the phases that are recorded all the same; NOTE "" means that nothing is missing.
renamed() {
    export RENAMED=$2
    "$PYTHON" tests/jobs/images.py "$T/images" --epochs 1 >"$T/plain.out" 2>"$T/plain.err"
    is "$1: the job works without pipeprobe" "$? $(cat "$T/plain.err")" "0 "
    run timeout 120 "$PP" exec -q --force -o "$R" -- "$PYTHON" tests/jobs/images.py "$T/images" --epochs 1
    is "$1: exit status" "$rc" 0
    is "$1: output" "$(grep -v waited "$OUT")" "$(grep -v waited "$T/plain.out")"
    is "$1: standard error" "$(cat "$ERR")" ""
    like "$1: what is missing is named" "$(sql "$R" "SELECT DISTINCT value FROM meta WHERE section = 'process_note'")" "^$3"
    is "$1: phases" "$(sql "$R" "SELECT group_concat(phase, ' ') FROM (SELECT DISTINCT phase FROM v_span WHERE phase NOT IN ('epoch_boundary', 'sampler', 'startup') ORDER BY phase)")" "$4"
}
everything='collate data_wait decode dispatch_wait put_wait read step transform'
renamed "no fetchers" "create_fetcher=make_fetcher" 'torch.utils.data.dataloader is not recorded \(samples\): AttributeError' \
    'data_wait dispatch_wait put_wait step'
renamed "another worker loop" "index_queue=tasks" 'torch.utils.data._utils.worker is not recorded \(workers\): ValueError' 'data_wait step'
renamed "other iterators" "_next_index=_following _get_data=_receive" \
    'torch.utils.data.dataloader is not recorded \(batch lengths, order\): KeyError' "$everything"
is "other iterators: samples are counted by the loader's arguments" "$(sql "$R" "SELECT sum(samples) FROM v_span WHERE phase = 'data_wait'")" 60
renamed "no number of the batch received" "_rcvd_idx=_received" '$' "$everything"
is "no number of the batch received: batches are counted" "$(sql "$R" "SELECT count(DISTINCT batch), max(batch) FROM v_span WHERE phase = 'data_wait'")" "8|7"
renamed "another pinning loop" "in_queue=source" 'torch.utils.data._utils.pin_memory is not recorded \(pinning\): ValueError' "$everything"
done_testing
