"""What `pipeprobe tune` asks of a job's DataLoaders: to say with which arguments they were made and when they are iterated, and to make some of
them with other arguments. Only where PIPEPROBE_OVERRIDE is set. Its lines: log=FILE, where this module writes; set=num_workers=8,prefetch_factor=4; like=...
and made=N, which loaders: those made with the arguments that like names, else the N-th one made if its data set is of the same type.

No method of the job's own is called: its len() may draw random numbers, or open a file that the workers would then share.

The log has one line per fact, its fields apart by tabs (tui/cli/tune/tune_log.c reads it)."""

import functools
import os
import sys
import types

_LINES_MAX = 5000  # per process: a job may make a loader for every epoch
_ARGUMENTS = ("num_workers", "prefetch_factor", "pin_memory", "persistent_workers", "in_order")  # num_workers first: others depend on it
_SWITCHES = ("pin_memory", "persistent_workers", "in_order")
_NEED_WORKERS = ("prefetch_factor", "persistent_workers", "in_order")


class _State:
    log, like, target, wanted = None, None, -1, {}
    made, lines, any_alike = 0, 0, False
    row_of = None  # of a loader: its number in the recording


def _write(*fields):
    if _State.lines >= _LINES_MAX:
        return
    _State.lines += 1
    line = "\t".join(str(f).replace("\t", " ").replace("\n", " ")[:200] for f in fields) + "\n"
    try:
        fd = os.open(_State.log, os.O_WRONLY | os.O_APPEND | getattr(os, "O_CLOEXEC", 0))
        try:
            os.write(fd, line.encode("utf-8", "replace"))  # one write: lines of several processes do not mix
        finally:
            os.close(fd)
    except OSError:
        _State.lines = _LINES_MAX


def _type_name(thing):
    return "%s.%s" % (type(thing).__module__, type(thing).__qualname__)


def _in_a_worker():
    worker = sys.modules.get("torch.utils.data._utils.worker")
    return getattr(worker, "_worker_info", None) is not None


# ---- what a call says ----


def _is_iterable(dataset):
    return isinstance(dataset, sys.modules["torch.utils.data"].IterableDataset)


def _attributes(thing):
    """Its dictionary, without a method of its own."""
    try:
        return object.__getattribute__(thing, "__dict__")
    except Exception:
        return {}


def _code_of(thing):
    if type(thing) is functools.partial:
        thing = thing.func
    if type(thing) in (staticmethod, classmethod, types.MethodType):
        thing = thing.__func__
    if type(thing) is not types.FunctionType:  # an object that is called like one
        thing = vars(type(thing)).get("__call__")
    return thing.__code__ if type(thing) is types.FunctionType else None


def _asks_who_it_is(code):
    """It, or the code of a function defined in it, names torch's get_worker_info, or a function of such a name."""
    return code is not None and (
        any("worker_info" in name for name in code.co_names)
        or any(_asks_who_it_is(c) for c in code.co_consts if type(c) is types.CodeType)
    )


def _is_sharded(dataset, worker_init):
    """A stream whose workers each give a part of it: as torch's documentation shows the two ways of doing so, or by one of the
    functions that it is put together from, as WebDataset's split_by_worker."""
    stages = [f for held in list(_attributes(dataset).values()) if type(held) in (list, tuple) for f in held[:64]]
    methods = [
        f for c in type(dataset).__mro__ if not c.__module__.startswith("torch.utils.data") for f in list(vars(c).values())
    ]
    return any(_asks_who_it_is(_code_of(f)) for f in [worker_init] + stages + methods)


def _order(call):
    for name in ("sampler", "batch_sampler"):
        if call.get(name) is not None:
            return _type_name(call[name])
    return "shuffled" if call.get("shuffle") else "in sequence"


def _batch(call):
    sampler = call.get("batch_sampler")
    size = call.get("batch_size", 1) if sampler is None else _attributes(sampler).get("batch_size")
    return size if type(size) is int else 0


def _place():
    """Where the job makes the loader."""
    frame = sys._getframe(1)
    while frame and frame.f_globals.get("__name__", "").startswith((__name__, "torch.utils.data", "torchdata.")):
        frame = frame.f_back
    return "%s:%d" % (os.path.basename(frame.f_code.co_filename), frame.f_lineno) if frame else ""


def _facts(call):
    dataset = call["dataset"]
    iterable = _is_iterable(dataset)
    facts = {
        "dataset": _type_name(dataset),
        "iterable": iterable,
        "sharded": iterable and _is_sharded(dataset, call.get("worker_init_fn")),
        "batch": _batch(call),
        "order": _order(call),
        "num_workers": call.get("num_workers", 0),
        "prefetch_factor": call.get("prefetch_factor") or 2,
        "pin_memory": int(bool(call.get("pin_memory", False))),
        "persistent_workers": int(bool(call.get("persistent_workers", False))),
        "in_order": int(bool(call.get("in_order", True))),
    }
    sizes = [len(held) for held in list(_attributes(dataset).values()) if type(held) in (list, tuple, dict, range)]
    facts["like"] = "|".join([str(facts[k]) for k in ("dataset", "batch", "order", "num_workers")] + [str(max(sizes, default=0)), _place()])[:200]
    return facts


# ---- what is changed ----


def _why_not(key, facts, workers, known):
    if key == "num_workers" and facts["iterable"] and not facts["sharded"] and facts["num_workers"] < 2:
        return "an IterableDataset that does not call get_worker_info would give every sample once per worker"
    if key in _NEED_WORKERS and not workers:
        return "it needs num_workers > 0"
    if key not in known:
        return "torch %s has no such argument" % getattr(sys.modules["torch"], "__version__", "")
    if key == "pin_memory" and not sys.modules["torch"].cuda.is_available():
        return "there is no CUDA device"
    return None


def _changed(facts, known, number):
    """The keyword arguments to put in place of the job's."""
    changed, workers = {}, facts["num_workers"]
    for key in _ARGUMENTS:
        if key not in _State.wanted:
            continue
        why, value = _why_not(key, facts, workers, known), _State.wanted[key]
        if why:
            _write("left", os.getpid(), number, key, why)
            continue
        workers = value if key == "num_workers" else workers
        changed[key] = bool(value) if key in _SWITCHES else value
        _write("set", os.getpid(), number, key, value)
    return changed


def _is_meant(facts, number):
    if not _State.wanted:
        return False
    alike = facts["like"] == _State.like
    _State.any_alike |= alike
    same_place = number == _State.target and facts["dataset"] == (_State.like or "").split("|")[0]
    return alike or (same_place and not _State.any_alike)


def _look(known, positional, args, kwargs):
    """A loader is being made: writes what with. (its number, args and kwargs with the changes)."""
    call = dict(zip(positional, args))
    call.update(kwargs)
    facts, number = _facts(call), _State.made
    _State.made += 1
    columns = _ARGUMENTS + ("batch", "dataset", "order", "like")
    flags = [int(f) for f in (facts["iterable"], facts["sharded"], "in_order" in known)]
    _write("made", os.getpid(), number, *(flags + [facts[c] for c in columns]))
    changed = _changed(facts, known, number) if _is_meant(facts, number) else {}
    if changed.get("num_workers") == 0:  # torch refuses these of a loader without workers
        kwargs = {k: v for k, v in kwargs.items() if k not in _NEED_WORKERS + ("multiprocessing_context",)}
    args = tuple(changed.pop(name, value) for name, value in zip(positional, args)) + args[len(positional) :]
    return number, args, dict(kwargs, **changed)


def _hook(cls):
    original, iterate = cls.__init__, cls.__iter__
    code = original.__code__
    known = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    positional = code.co_varnames[1 : code.co_argcount]

    def __init__(self, *args, **kwargs):
        number = None
        if not _in_a_worker():
            try:
                number, args, kwargs = _look(known, positional, args, kwargs)
            except Exception as e:  # the job goes on with its own arguments
                _write("trouble", os.getpid(), _State.made, type(e).__name__, str(e))
        original(self, *args, **kwargs)
        self.__dict__["_pipeprobe_made"] = number

    def __iter__(self):
        iterator = iterate(self)
        number = self.__dict__.get("_pipeprobe_made")
        if number is not None:
            try:
                _write("epoch", os.getpid(), number, _State.row_of(self))
            except Exception:
                pass
        return iterator

    for ours, theirs in ((__init__, original), (__iter__, iterate)):
        for name in ("__module__", "__name__", "__qualname__", "__doc__"):
            setattr(ours, name, getattr(theirs, name))
        ours.__wrapped__ = theirs
    cls.__init__, cls.__iter__ = __init__, __iter__


# ---- getting in ----


def _of(name):
    return lambda module: _hook(getattr(module, name))


def install(hooks, row_of, text):
    """Puts itself behind the hooks of pipeprobe_hooks.py, which record. row_of: of a loader that is iterated, its number in the recording."""
    _State.row_of = staticmethod(row_of)
    for line in text.split("\n"):
        key, _, value = line.partition("=")
        if key == "log":
            _State.log = value
        elif key == "like":
            _State.like = value
        elif key == "made":
            _State.target = int(value)
        elif key == "set":
            pairs = (pair.partition("=") for pair in value.split(",") if pair)
            _State.wanted = {k: int(v) for k, _, v in pairs if k in _ARGUMENTS}
    if not _State.log:
        return
    for module, name in (
        ("torch.utils.data.dataloader", "DataLoader"),
        ("torchdata.stateful_dataloader.stateful_dataloader", "StatefulDataLoader"),
    ):
        hooks[module] = hooks.get(module, ()) + (("its arguments", _of(name)),)
