"""What `pipeprobe tune` asks of a job's DataLoaders: to say with which arguments they were made and how often they were iterated, and to make some
of them with other arguments. Only where PIPEPROBE_OVERRIDE is set. Its lines: log=FILE, where this module writes; set=workers=8,prefetch=4; like=...
and made=N, which loaders: those made with the arguments that like names, else the N-th one made if its data set is of the same type.

The log has one line per fact, its fields apart by tabs (tui/cli/tune/tune_log.h reads it)."""

import os
import sys

_LINES_MAX = 5000  # per process: a job may make a loader for every epoch
_KEYS = {
    "workers": "num_workers",
    "prefetch": "prefetch_factor",
    "pin": "pin_memory",
    "persistent": "persistent_workers",
    "in_order": "in_order",
}
_NEED_WORKERS = ("prefetch", "persistent", "in_order")


class _State:
    log, like, target, wanted = None, None, -1, {}
    made, lines = 0, 0


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


def _asks_who_it_is(function, depth=0):
    """The code of function, or of one defined in it, names get_worker_info."""
    code = getattr(function, "__code__", function if depth else None)
    names = getattr(code, "co_names", ())
    return "get_worker_info" in names or any(
        _asks_who_it_is(c, depth + 1) for c in getattr(code, "co_consts", ()) if hasattr(c, "co_names")
    )


def _is_sharded(dataset, worker_init):
    """A stream whose workers each give a part of it, as torch's documentation shows the two ways of doing so."""
    if _asks_who_it_is(worker_init):
        return True
    return any(
        _asks_who_it_is(f)
        for c in type(dataset).__mro__
        if not c.__module__.startswith("torch.utils.data")
        for f in vars(c).values()
    )


def _order(call):
    for name in ("sampler", "batch_sampler"):
        if call.get(name) is not None:
            return _type_name(call[name])
    return "shuffled" if call.get("shuffle") else "in sequence"


def _length(dataset):
    try:
        return len(dataset)
    except Exception:
        return 0


def _facts(call):
    dataset = call["dataset"]
    iterable = _is_iterable(dataset)
    facts = {
        "dataset": _type_name(dataset),
        "iterable": iterable,
        "sharded": iterable and _is_sharded(dataset, call.get("worker_init_fn")),
        "samples": 0 if iterable else _length(dataset),
        "batch": call.get("batch_size", 1) or 0,
        "order": _order(call),
        "workers": call.get("num_workers", 0),
        "prefetch": call.get("prefetch_factor") or 2,
        "pin": int(bool(call.get("pin_memory", False))),
        "persistent": int(bool(call.get("persistent_workers", False))),
        "in_order": int(bool(call.get("in_order", True))),
    }
    facts["like"] = "|".join(str(facts[k]) for k in ("dataset", "samples", "batch", "order", "workers"))[:200]
    return facts


# ---- what is changed ----


def _why_not(key, facts, workers, known):
    if key == "workers" and facts["iterable"] and not facts["sharded"]:
        return "an IterableDataset that does not call get_worker_info would give every sample once per worker"
    if key in _NEED_WORKERS and not workers:
        return "it needs num_workers > 0"
    if _KEYS[key] not in known:
        return "torch %s has no such argument" % getattr(sys.modules["torch"], "__version__", "")
    if key == "pin" and not sys.modules["torch"].cuda.is_available():
        return "there is no CUDA device"
    return None


def _changed(facts, known, number):
    """The keyword arguments to put in place of the job's."""
    changed, workers = {}, facts["workers"]
    for key in _KEYS:  # workers first: the others depend on them
        if key not in _State.wanted:
            continue
        why, value = _why_not(key, facts, workers, known), _State.wanted[key]
        if why:
            _write("left", os.getpid(), number, key, why)
            continue
        workers = value if key == "workers" else workers
        changed[_KEYS[key]] = bool(value) if key in ("pin", "persistent", "in_order") else value
        _write("set", os.getpid(), number, key, value)
    return changed


def _is_meant(facts, number):
    if not _State.wanted:
        return False
    return facts["like"] == _State.like or (
        number == _State.target and facts["dataset"] == (_State.like or "").split("|")[0]
    )


def _look(known, positional, args, kwargs):
    """A loader is being made: writes what with. (its number, args and kwargs with the changes)."""
    call = dict(zip(positional, args))
    call.update(kwargs)
    facts, number = _facts(call), _State.made
    _State.made += 1
    columns = ("workers", "prefetch", "pin", "persistent", "in_order", "batch", "samples", "dataset", "order", "like")
    flags = [int(f) for f in (facts["iterable"], facts["sharded"], "in_order" in known)]
    _write("made", os.getpid(), number, *(flags + [facts[c] for c in columns]))
    changed = _changed(facts, known, number) if _is_meant(facts, number) else {}
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
        number = self.__dict__.get("_pipeprobe_made")
        if number is not None:
            try:
                _write("epoch", os.getpid(), number, 0 if _is_iterable(self.dataset) else _length(self))
            except Exception:
                pass
        return iterate(self)

    for ours, theirs in ((__init__, original), (__iter__, iterate)):
        for name in ("__module__", "__name__", "__qualname__", "__doc__"):
            setattr(ours, name, getattr(theirs, name))
        ours.__wrapped__ = theirs
    cls.__init__, cls.__iter__ = __init__, __iter__


# ---- getting in ----


def _of(name):
    return lambda module: _hook(getattr(module, name))


def install(hooks, text):
    """Puts itself behind the hooks of pipeprobe_hooks.py, which record."""
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
            _State.wanted = {k: int(v) for k, _, v in pairs if k in _KEYS}
    if not _State.log:
        return
    for module, name in (
        ("torch.utils.data.dataloader", "DataLoader"),
        ("torchdata.stateful_dataloader.stateful_dataloader", "StatefulDataLoader"),
    ):
        hooks[module] = hooks.get(module, ()) + (("its arguments", _of(name)),)
