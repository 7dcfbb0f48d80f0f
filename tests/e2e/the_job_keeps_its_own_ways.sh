#!/bin/bash
# What a program may do with what the hooks have replaced: compare and pickle methods, keep functions from before, end a recording in the middle of a call, open
# its files at the first len(). Each snippet prints the same without pipeprobe, under exec, and around a block of record().
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
PYTHON=${PYTHON:-/usr/bin/python3} R=$T/run.sqlite
[ -e "$BUILD/python/attach/_pipeprobe.abi3.so" ] || skip_all "the extension is not built: no Python.h"
imports "$PYTHON" 'torch, torchvision' || skip_all "$PYTHON has no torch and torchvision"
"$MAKE_DATASET" "$T/images" --n 12 --classes 3 --size 80x60 >/dev/null
export PYTHONHASHSEED=0 IMAGES=$T/images
cat >"$T/block.py" <<'P'
"""block: of this file's snippet, with the recording that RECORD asks for."""
import contextlib, os
def block():
    if not os.environ.get("RECORD"):
        return contextlib.nullcontext()
    import pipeprobe
    return pipeprobe.record(os.environ["RECORD"], force=True)
P
export PYTHONPATH=$T

# snippet NAME [spans]: from standard input, without us, under exec, and with record(); in the last two DataLoaders are recorded, unless nothing is said.
snippet() {
    local name=$1 plain
    { echo 'if __name__ == "__main__":'; sed 's/^/    /'; } >"$T/body.py"
    { sed -n 's/^    #top //p' "$T/body.py"; grep -v '^    #top ' "$T/body.py"; } >"$T/snippet.py"
    timeout 60 "$PYTHON" "$T/snippet.py" >"$T/plain" 2>"$T/plain.err"
    plain="$? $(cat "$T/plain") $(cat "$T/plain.err")"
    run timeout 60 "$PP" exec -q -f -o "$R" -- "$PYTHON" "$T/snippet.py"
    is "$name: exec" "$rc $(cat "$OUT") $(cat "$ERR")" "$plain"
    [ "${2:-}" != spans ] || is "$name: exec records" "$(sql "$R" "SELECT count(*) > 0 FROM v_span WHERE phase = 'data_wait'") $(sql "$R" "SELECT value FROM meta WHERE section = 'process_note'")" "1 "
    RECORD=$T/block.sqlite PATH=$(dirname "$PP"):$PATH PYTHONPATH=$T:$PWD/collectors/attach/package run timeout 60 "$PYTHON" "$T/snippet.py"
    is "$name: record()" "$rc $(cat "$OUT") $(cat "$ERR")" "$plain"
}

snippet "methods compare, hash and pickle" <<'P'
import inspect, pickle, queue, weakref
from block import block
with block():
    import torch.utils.data
    q = queue.Queue()
    held = [q.put]
    held.remove(q.put)
    print(held, {q.put: 1}[q.put], inspect.ismethod(q.put), inspect.signature(q.put), weakref.WeakMethod(q.put)() == q.put, q.put.__self__ is q, q.put.__name__)
    print(pickle.loads(pickle.dumps(torch.save)) is torch.save)
P
snippet "an object that goes with its method" <<'P'
import gc, queue
from block import block
with block():
    class Q(queue.Queue):
        def __del__(self):
            gc.collect()
            print("gone")
    for _ in range(50):
        put = Q().put
        del put
P
snippet "a thread in a call when the recording ends" spans <<'P'
import queue, threading, time
from block import block
import torch
from torch.utils.data import DataLoader
q = queue.Queue(1)
def feed():
    for b in DataLoader(torch.arange(8)):
        q.put(b)
    q.put(None)
with block():
    threading.Thread(target=feed, daemon=True).start()
    got = [q.get()]
    time.sleep(0.3)
while got[-1] is not None:
    got.append(q.get())
    time.sleep(0.02)
print(got)
P
snippet "a thread that ends as the recording does" spans <<'P'
import threading
from block import block
import torch
from torch.utils.data import DataLoader
taken = []
for _ in range(10):
    with block():
        t = threading.Thread(target=lambda: taken.append(sum(int(b) for b in DataLoader(torch.arange(20)))))
        t.start()
        t.join()
print(taken)
P
snippet "a file that is opened by the first len() or sample" spans <<'P'
#top from block import block
#top import torch
#top class Lazy(torch.utils.data.Dataset):
#top     f = None
#top     def open(self):
#top         self.f = self.f or open(__file__, "rb", buffering=0)
#top     def __len__(self):
#top         self.open()
#top         return 12
#top     def __getitem__(self, i):
#top         self.open()
#top         self.f.seek(i)
#top         return self.f.read(1)[0]
for method in ("spawn", "fork"):
    with block():
        loader = torch.utils.data.DataLoader(Lazy(), batch_size=5, num_workers=2, persistent_workers=True, multiprocessing_context=method)
        for epoch in range(2):
            print([b.tolist() for b in loader])
        del loader
P
is "its lengths are known all the same" "$(sql "$R" "SELECT value LIKE '%samples=12 %' FROM meta WHERE section = 'loader' LIMIT 1") $(sql "$R" "SELECT count(DISTINCT batch) = count(*), sum(samples) FROM v_span WHERE phase = 'data_wait'")" "1 1|48"
snippet "Ctrl-C while a hook runs" <<'P'
import sys
from block import block
import torch
class D(torch.utils.data.Dataset):
    def __len__(self):
        frame = sys._getframe()
        while frame and not (frame.f_code.co_filename.endswith("pipeprobe_hooks.py") or asked):
            frame = frame.f_back
        if frame or asked:
            raise KeyboardInterrupt
        return 4
    def __getitem__(self, i):
        return i
asked = False
with block():
    try:
        batches = iter(torch.utils.data.DataLoader(D()))
        asked = True
        next(batches)
        print("no interrupt")
    except KeyboardInterrupt:
        print("interrupted")
P
snippet "a time limit that ends while a hook runs" <<'P'
import signal, sys
from block import block
import torch
def late(number, frame):
    raise TimeoutError("too late")
signal.signal(signal.SIGALRM, late)
class D(torch.utils.data.Dataset):
    def __len__(self):
        frame = sys._getframe()
        while frame and not (frame.f_code.co_filename.endswith("pipeprobe_hooks.py") or asked):
            frame = frame.f_back
        if frame or asked:
            signal.raise_signal(signal.SIGALRM)
        return 4
    def __getitem__(self, i):
        return i
asked = False
with block():
    try:
        batches = iter(torch.utils.data.DataLoader(D()))
        asked = True
        next(batches)
        print("no limit")
    except TimeoutError as e:
        print(e)
P
snippet "indices and data that change within an epoch" spans <<'P'
from block import block
import torch
from torch.utils.data import DataLoader, Subset
with block():
    part = Subset(torch.arange(1000), list(range(100)))
    for i, b in enumerate(DataLoader(part, 2)):
        print(b.tolist())
        if i == 10:
            part.indices = list(range(500, 600))
        if i == 30:
            part.dataset = torch.arange(1000) + 7
P
mkdir "$T/broken"
cat >"$T/broken/cv2.py" <<'P'
import warnings
warnings.warn("old", DeprecationWarning, stacklevel=2)
raise WHAT("libGL.so.1")
P
snippet "a module that cannot be imported" <<'P'
import builtins, os, sys, traceback
from block import block
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "broken"))
with block():
    for builtins.WHAT in (ImportError, ValueError):
        try:
            import cv2
        except Exception:
            traceback.print_exc()
P
snippet "finders of the job's own" <<'P'
import sys
from block import block
class Log:
    def find_spec(self, name, path=None, target=None):
        if name == "torch.serialization":
            print("looked for", name)
sys.meta_path.insert(0, Log())
with block():
    import torch
P
snippet "simple queues look as they did" <<'P'
import pickle, queue
print(queue.SimpleQueue, queue.SimpleQueue.__doc__, queue.SimpleQueue.__module__)
try:
    pickle.dumps(queue.SimpleQueue())
except TypeError as e:
    print(e)
P
snippet "low descriptors are the job's" <<'P'
import os
import torch.utils.data
print([os.open("/dev/null", os.O_RDONLY) for _ in range(3)])
print(sum(len(b) for b in torch.utils.data.DataLoader(torch.arange(8))))
P
snippet "modes of torch's see what the job asks for" spans <<'P'
from block import block
import torch
from torch.overrides import TorchFunctionMode
class Stream(torch.utils.data.IterableDataset):
    def __iter__(self):
        return iter([torch.arange(6).reshape(2, 3).t() for _ in range(20)])
class Log(TorchFunctionMode):
    def __torch_function__(self, function, types, args=(), kwargs=None):
        names.append(getattr(function, "__name__", str(function)))
        return function(*args, **(kwargs or {}))
names = []
with block():
    with Log():
        for b in torch.utils.data.DataLoader(Stream(), batch_size=None):
            pass
print(names)
P
snippet "functions from before, in workers that are spawned" spans <<'P'
#top import os
#top import PIL.Image, torch, torchvision
#top from block import block
data = torchvision.datasets.ImageFolder(os.environ["IMAGES"], torchvision.transforms.Compose([torchvision.transforms.Resize((8, 8)), torchvision.transforms.ToTensor()]), loader=PIL.Image.open)
with block():
    print(sum(len(x) for x, _ in torch.utils.data.DataLoader(data, 4, num_workers=2, multiprocessing_context="spawn")))
print(PIL.Image.open.__name__)
P
snippet "functions taken within the block, and sent after it" spans <<'P'
#top import os
#top import PIL.Image, torch, torchvision
#top from block import block
def data(read):
    return torchvision.datasets.ImageFolder(os.environ["IMAGES"], torchvision.transforms.Compose([torchvision.transforms.Resize((8, 8)), torchvision.transforms.ToTensor()]), loader=read)
before = PIL.Image.open
with block():
    within = PIL.Image.open
    print(sum(len(x) for x, _ in torch.utils.data.DataLoader(data(within), 4, num_workers=1, multiprocessing_context="spawn")))
for read in (before, within):
    print(sum(len(x) for x, _ in torch.utils.data.DataLoader(data(read), 4, num_workers=1, multiprocessing_context="spawn")))
with block():
    print(sum(len(x) for x, _ in torch.utils.data.DataLoader(data(PIL.Image.open), 4, num_workers=1)))
P
is "and they decode" "$(sql "$R" "SELECT count(*) FROM v_span WHERE phase = 'decode'")" 48
is "also in a second block, in workers that are forked" "$(sql "$T/block.sqlite" "SELECT count(*) FROM v_span WHERE phase = 'decode'")" 12
snippet "a loader is as it was" spans <<'P'
import copy, pickle
from block import block
import torch
from torch.utils.data import DataLoader
with block():
    loader = DataLoader(torch.arange(8), 4)
    before = sorted(vars(loader)), len(pickle.dumps(loader))
    for _ in loader:
        pass
    print((sorted(vars(loader)), len(pickle.dumps(loader))) == before, [sum(len(b) for b in l) for l in (copy.deepcopy(loader), pickle.loads(pickle.dumps(loader)))])
P
is "and its copies are loaders of their own" "$(sql "$R" "SELECT count(*) FROM meta WHERE section = 'loader'")" 3
snippet "loaders of one kind, one after the other" spans <<'P'
from block import block
import torch
from torch.utils.data import DataLoader
with block():
    for n in (8, 400, 80, 400):
        print(sum(int(b.sum()) for b in DataLoader(torch.arange(n), 4, num_workers=1)))
P
is "and no batch has a number that another has" "$(sql "$R" "SELECT count(*), count(DISTINCT batch), sum(samples) FROM v_span WHERE phase = 'data_wait'")" "222|222|888"
snippet "queues from before" <<'P'
import queue
from block import block
q = queue.SimpleQueue()
with block():
    class Mine(queue.SimpleQueue):
        pass
    print(isinstance(q, Mine), isinstance(Mine(), queue.SimpleQueue), isinstance(queue.SimpleQueue(), Mine))
    print(isinstance(q, queue.SimpleQueue), isinstance(queue.SimpleQueue(), queue.SimpleQueue), isinstance(3, queue.SimpleQueue))
P

snippet "a queue with another metaclass" <<'P'
import abc, queue
class Channel(queue.SimpleQueue, abc.ABC):
    pass
c = Channel()
c.put(3)
print(c.get(), isinstance(c, queue.SimpleQueue))
P

# Python's own checks of extensions, and each warning an error.
for options in "-X dev" "-W error" "-O" "-X tracemalloc"; do
    # shellcheck disable=SC2086
    timeout 100 "$PYTHON" $options tests/jobs/images.py "$T/images" --epochs 2 >"$T/plain" 2>"$T/plain.err"
    plain="$? $(grep -v waited "$T/plain") $(sed 's/0x[0-9a-f]*//g' "$T/plain.err")"
    # shellcheck disable=SC2086
    run timeout 100 "$PP" exec -q -f -o "$R" -- "$PYTHON" $options tests/jobs/images.py "$T/images" --epochs 2
    is "python $options: as without us" "$rc $(grep -v waited "$OUT") $(sed 's/0x[0-9a-f]*//g' "$ERR")" "$plain"
done

# What a .pth file imports is there before our hooks are.
"$PYTHON" -m venv --without-pip --system-site-packages "$T/venv" >/dev/null
echo 'import queue, multiprocessing.reduction' >"$(echo "$T"/venv/lib/python3*/site-packages)/before.pth"
run timeout 60 "$PP" exec -q -f -o "$R" -- "$T/venv/bin/python" -c 'import queue, multiprocessing.reduction as r; print(hasattr(queue.Queue.put, "__wrapped__"), hasattr(r.ForkingPickler.loads, "__wrapped__"))'
is "modules that were imported before the hooks have them" "$rc $(cat "$OUT")" "0 True True"

# A rank that multiprocessing has started records itself; its own workers do not.
cat >"$T/ranks.py" <<'P'
import sys, torch
import torch.multiprocessing as mp
import pipeprobe
def rank(r, where):
    with pipeprobe.record("%s/rank%d.sqlite" % (where, r)):
        print(r, sum(len(b) for b in torch.utils.data.DataLoader(torch.arange(40), 4, num_workers=1)), flush=True)
if __name__ == "__main__":
    mp.spawn(rank, (sys.argv[1],), nprocs=2)
P
PATH=$(dirname "$PP"):$PATH PYTHONPATH=$PWD/collectors/attach/package run timeout 100 "$PYTHON" "$T/ranks.py" "$T"
is "ranks of mp.spawn: output" "$rc $(sort "$OUT" | tr '\n' ,)" "0 0 40,1 40,"
for r in 0 1; do is "rank $r of mp.spawn has its recording" "$(sql "$T/rank$r.sqlite" "SELECT count(*) FROM v_span WHERE phase = 'data_wait'")" 10; done
done_testing
