"""pipeprobe_override.py on DataLoaders like those of several versions of torch, without torch: what it changes, what it leaves and why.

override_keeps_to_the_rules.py DIRECTORY-OF-THE-HOOKS LOG"""

import functools
import importlib
import os
import sys
import types

sys.path.insert(0, sys.argv[1])
LOG = sys.argv[2]
CUDA = False


class IterableDataset:
    pass


IterableDataset.__module__ = "torch.utils.data.dataset"


class Old:
    def __init__(self, dataset, batch_size=1, shuffle=None, sampler=None, batch_sampler=None, num_workers=0, collate_fn=None,
                 pin_memory=False, drop_last=False, timeout=0, worker_init_fn=None, multiprocessing_context=None, generator=None,
                 *, prefetch_factor=2, persistent_workers=False, pin_memory_device=""):  # fmt: skip
        self.__dict__.update({k: v for k, v in locals().items() if k != "self"})

    def __iter__(self):
        return iter(())

    def __len__(self):
        return 5


class New(Old):
    def __init__(self, dataset, batch_size=1, shuffle=None, sampler=None, batch_sampler=None, num_workers=0, collate_fn=None,
                 pin_memory=False, drop_last=False, timeout=0, worker_init_fn=None, multiprocessing_context=None, generator=None,
                 *, prefetch_factor=None, persistent_workers=False, pin_memory_device="", in_order=True):  # fmt: skip
        self.__dict__.update({k: v for k, v in locals().items() if k not in ("self", "__class__")})


lengths_asked = 0


class Map:
    def __init__(self):
        self.names = ["a"] * 100

    def __len__(self):
        global lengths_asked
        lengths_asked += 1
        return 100


class Broken:
    def __len__(self):
        raise RuntimeError("no length")

    def __getattr__(self, name):
        raise RuntimeError("nobody may ask for " + name)


class Plain(IterableDataset):
    def __iter__(self):
        return iter(range(9))


class Sharded(IterableDataset):
    def __iter__(self):
        def numbers():
            yield torch.utils.data.get_worker_info()

        return numbers()


def pytorch_worker_info():
    return 0, 1, 0, 1


def split_by_worker(source):
    yield pytorch_worker_info()


class Pipeline(IterableDataset):
    def __init__(self, *stages):
        self.pipeline = list(stages)


class AtStart:
    def __call__(self, number):
        torch.utils.data.get_worker_info().dataset.part = number


def shard_at_start(number):
    torch.utils.data.get_worker_info().dataset.part = number


torch = types.ModuleType("torch")
torch.__version__ = "1.13"
torch.cuda = types.SimpleNamespace(is_available=lambda: CUDA)
torch.utils = types.ModuleType("torch.utils")
torch.utils.data = types.ModuleType("torch.utils.data")
torch.utils.data.IterableDataset = IterableDataset
worker = types.ModuleType("torch.utils.data._utils.worker")
worker._worker_info = None
sys.modules.update({"torch": torch, "torch.utils": torch.utils, "torch.utils.data": torch.utils.data, worker.__name__: worker})


def make(base, text, *calls):
    """Each call (args, kwargs) made of a fresh copy of base with the hooks for text: the loaders, and the log's lines as lists."""
    sys.modules.pop("pipeprobe_override", None)
    override = importlib.import_module("pipeprobe_override")
    cls = type("DataLoader", (Old,), {"__init__": types.FunctionType(base.__init__.__code__, globals(), "__init__", base.__init__.__defaults__)})
    cls.__init__.__kwdefaults__ = dict(base.__init__.__kwdefaults__)
    module = types.SimpleNamespace(DataLoader=cls)
    open(LOG, "w").close()
    order = []
    hooks = {"torch.utils.data.dataloader": (("waits", lambda module: order.append("recorder")),)}
    override.install(hooks, lambda loader: 7, "log=%s\n%s" % (LOG, text))
    for _, hook in hooks["torch.utils.data.dataloader"]:
        hook(module)
    assert order == ["recorder"], "the recorder's hook runs first"
    global PLACE
    loaders = [cls(*args, **kwargs) for args, kwargs in calls]
    PLACE = sys._getframe().f_lineno - 1
    for loader in loaders[:2]:
        iter(loader)
    return loaders, [line.rstrip("\n").split("\t") for line in open(LOG)]


def like(base, *args, **kwargs):
    """What the loader is called in the log."""
    lines = make(base, "", (args, kwargs))[1]
    return lines[0][-1]


def make_elsewhere():
    override = sys.modules["pipeprobe_override"]
    facts = []
    original, override._write = override._write, lambda *fields: facts.append(fields)
    override._look(("dataset", "batch_size", "shuffle"), ("dataset", "batch_size", "shuffle"), (data, 8, True), dict(num_workers=2))
    override._write = original
    return facts[0][-1]


failures = 0


def check(name, got, want):
    global failures
    print("%s - %s" % ("ok" if got == want else "not ok", name))
    if got != want:
        failures += 1
        print("# got  %r\n# want %r" % (got, want))


def facts(lines, word):
    return [line[3:] for line in lines if line[0] == word]


data = Map()
name = like(New, data, 8, True, num_workers=2)
check("the name of a loader", name, "__main__.Map|8|shuffled|2|100|override_keeps_to_the_rules.py:%s" % PLACE)
check("another place is another loader", like(New, data, 8, True, num_workers=2) == make_elsewhere(), False)
check("a data set of another size as well", like(New, Pipeline(1, 2)) == like(New, Pipeline(1)), False)

loaders, lines = make(New, "", ((data, 8), {}))
check("nothing asked: nothing changed", (loaders[0].num_workers, loaders[0].prefetch_factor, facts(lines, "set")), (0, None, []))
check("its arguments are told", lines[0][0:1] + lines[0][3:14], ["made", "0", "0", "1", "0", "2", "0", "0", "1", "8", "__main__.Map", "in sequence"])
check("and its row in the recording", [line[2:] for line in lines if line[0] == "epoch"], [["0", "7"]])
sampler = types.SimpleNamespace(batch_size=32)
check("the batch size is a batch sampler's", make(New, "", ((data,), dict(batch_sampler=sampler)))[1][0][11], "32")
check("or not known", make(New, "", ((data,), dict(batch_sampler=[[1, 2], [3]])))[1][0][11], "0")

loaders, lines = make(New, "set=num_workers=8,prefetch_factor=4,in_order=0,persistent_workers=1\nlike=" + name, ((data, 8, True), dict(num_workers=2)), ((data, 8), {}))
first, second = loaders
check("all of it", (first.num_workers, first.prefetch_factor, first.in_order, first.persistent_workers), (8, 4, False, True))
check("and said", facts(lines, "set"), [["num_workers", "8"], ["prefetch_factor", "4"], ["persistent_workers", "1"], ["in_order", "0"]])
check("another loader stays as it is", (second.num_workers, second.prefetch_factor, second.in_order), (0, None, True))

loaders, lines = make(New, "set=num_workers=3\nlike=" + like(New, data, 8, True, None, None, 2), ((data, 8, True, None, None, 2, len), {}))
check("given by position", (loaders[0].num_workers, loaders[0].collate_fn, loaders[0].shuffle), (3, len, True))

loaders, lines = make(Old, "set=in_order=0,prefetch_factor=4\nlike=" + like(Old, data, num_workers=2), ((data,), dict(num_workers=2)))
check("an older torch: the rest is changed", (loaders[0].prefetch_factor, facts(lines, "set")), (4, [["prefetch_factor", "4"]]))
check("and the other is left", facts(lines, "left"), [["in_order", "torch 1.13 has no such argument"]])

loaders, lines = make(New, "set=prefetch_factor=4,persistent_workers=1\nlike=" + like(New, data), ((data,), {}))
check("no workers: nothing that needs them", (loaders[0].prefetch_factor, loaders[0].persistent_workers, len(facts(lines, "left"))), (None, False, 2))
loaders, lines = make(New, "set=num_workers=2,prefetch_factor=4\nlike=" + like(New, data), ((data,), {}))
check("unless they come with it", (loaders[0].num_workers, loaders[0].prefetch_factor), (2, 4))

loaders, lines = make(New, "set=pin_memory=1\nlike=" + like(New, data), ((data,), {}))
check("pinned memory without a device", (loaders[0].pin_memory, facts(lines, "left")), (False, [["pin_memory", "there is no CUDA device"]]))
CUDA = True
check("and with one", make(New, "set=pin_memory=1\nlike=" + like(New, data), ((data,), {}))[0][0].pin_memory, True)

stream = Plain()
loaders, lines = make(New, "set=num_workers=4,prefetch_factor=4\nlike=" + like(New, stream, num_workers=1), ((stream,), dict(num_workers=1)))
check("a stream that is not sharded keeps its workers", (loaders[0].num_workers, loaders[0].prefetch_factor), (1, 4))
check("and that is said", [f[0] for f in facts(lines, "left")], ["num_workers"])
loaders, lines = make(New, "set=num_workers=4\nlike=" + like(New, stream, num_workers=2), ((stream,), dict(num_workers=2)))
check("one that the job gives two workers is the job's affair", loaders[0].num_workers, 4)
for title, dataset, options in (
    ("asks in a generator", Sharded(), {}),
    ("asks in worker_init_fn", Plain(), dict(worker_init_fn=shard_at_start)),
    ("asks in a part of worker_init_fn", Plain(), dict(worker_init_fn=functools.partial(shard_at_start))),
    ("asks in an object that is called", Plain(), dict(worker_init_fn=AtStart())),
    ("is put together with a stage that asks", Pipeline(3, split_by_worker), {}),
):
    loaders, lines = make(New, "set=num_workers=4\nlike=" + like(New, dataset, num_workers=1, **options), ((dataset,), dict(num_workers=1, **options)))
    check("a stream that %s" % title, loaders[0].num_workers, 4)

loaders, lines = make(New, "set=num_workers=4\nlike=" + like(New, Pipeline(3, len)), ((Pipeline(3, len),), {}))
check("a stream put together without one keeps its workers", loaders[0].num_workers, 0)

loaders, lines = make(New, "set=num_workers=4\nmade=1\nlike=__main__.Map|1|in sequence|0|99|a.py:1", ((data,), {}), ((data,), {}), ((Sharded(),), {}))
check("a loader of the same type at the same place", [x.num_workers for x in loaders], [0, 4, 0])
loaders, lines = make(New, "set=num_workers=4\nmade=0\nlike=other.Type|1|in sequence|0|99|a.py:1", ((data,), {}))
check("but not of another type", loaders[0].num_workers, 0)
loaders, lines = make(New, "set=num_workers=4\nmade=1\nlike=" + name, ((data, 8, True), dict(num_workers=2)), ((data, 8), {}))
check("and not beside one that has the arguments", [x.num_workers for x in loaders], [4, 0])

loaders, lines = make(New, "set=num_workers=4\nlike=" + like(New, Broken()), ((Broken(),), {}))
check("a data set that may not be asked", loaders[0].num_workers, 4)
loaders, lines = make(New, "set=num_workers=4\nmade=0\nlike=__main__.Map", ((), dict(dataset=data, num_workers="two")))
check("an argument of a strange type is the job's affair", loaders[0].num_workers, 4)
try:
    make(New, "set=num_workers=4\nmade=0\nlike=x", ((), {}))
    check("a wrong call is torch's own error", "none", "TypeError")
except TypeError as e:
    check("a wrong call is torch's own error", "dataset" in str(e), True)

worker._worker_info = object()
loaders, lines = make(New, "set=num_workers=4\nlike=" + name, ((data, 8, True), dict(num_workers=2)))
check("in a worker nothing is changed or said", (loaders[0].num_workers, lines), (2, []))
worker._worker_info = None

loaders, lines = make(New, "set=num_workers=4\nlike=" + name, *[((data, 8, True), dict(num_workers=2))] * 6000)
check("however many loaders a job makes, the log ends", (len(lines), loaders[-1].num_workers), (5000, 4))
check("the job's len() was never called", lengths_asked, 0)
os.unlink(LOG)
sys.exit(failures != 0)
