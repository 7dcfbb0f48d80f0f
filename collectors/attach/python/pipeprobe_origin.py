"""What the order of a job's samples comes from: facts of a loader when it is iterated, and calls that save, restore or set state.

No code of the job's runs for it: attributes are read from the objects' own dictionaries, and no random state is touched."""

import os
import sys
import time

from pipeprobe_names import _is_a_librarys, _is_ours, _is_torchs, _shown, attributes, module_of

record = None
_FRAMES_MAX = 64
_CHAIN_MAX = 12
_OF_ONE = 24  # facts of one object


# ---- where ----


def places():
    """(FILE:LINE of the innermost frame that is the job's, the same of the innermost outside of torch's loaders); "" for none."""
    frame, caller, last = sys._getframe(1), "", ""
    for _ in range(_FRAMES_MAX):
        if frame is None:
            break
        if not _is_torchs(frame):
            last = "%s:%d" % (_shown(frame.f_code.co_filename), frame.f_lineno)
            caller = caller or last
            if not _is_a_librarys(frame):
                return last, caller
        frame = frame.f_back
    return "", caller


# ---- the states of random generators, as hashes ----


def _of_generator(generator):
    """Not where a mode of the job's would see us look: later PyTorch than 1.13 can be asked past those of functions."""
    core = sys.modules["torch"]._C
    modes = core._len_torch_dispatch_stack()
    if not hasattr(core, "DisableTorchFunctionSubclass"):
        modes += core._len_torch_function_stack()
    if modes:
        raise RuntimeError("a mode is active")
    with core.DisableTorchFunction():
        return record.hash(generator.get_state().numpy().tobytes())


def _of_torch():
    return _of_generator(sys.modules["torch"].default_generator)


def _of_random():
    return "%016x" % (hash(sys.modules["random"].getstate()[1]) & 0xFFFFFFFFFFFFFFFF)


def _of_numpy():
    state = sys.modules["numpy.random"].get_state()
    return record.hash(state[1].tobytes() + b"%d" % state[2])


_RNGS = (("rng.torch", "torch", _of_torch), ("rng.random", "random", _of_random), ("rng.numpy", "numpy.random", _of_numpy))


def _rngs():
    """Those that can be read: a mode of the job's may stand in the way."""
    found = {}
    for key, module, of in _RNGS:
        if module in sys.modules:
            try:
                found[key] = of()
            except Exception:
                pass
    return found


# ---- a loader and what is in it ----

_INNER = ("batch_sampler", "sampler", "base_sampler", "_sampler")
_OF_LOADERS = ("iteration", "skip_batches", "num_workers", "batch_size", "drop_last", "prefetch_factor", "persistent_workers", "in_order", "_drop_last", "use_seedable_sampler")
_OF_DATA = ("epoch", "_epoch", "seed", "_seed", "buffer_size", "shuffle", "rank", "world_size", "num_shards", "shard_id", "_state_dict")


def _chain(loader):
    """(what it is called, object): the loader, its batch sampler, its sampler, and those inside them, outermost first."""
    found, seen = [("loader", loader)], {id(loader)}
    for _, thing in found:  # it grows
        held = attributes(thing)
        for name in _INNER:
            inner = held.get(name)
            dummy = name == "sampler" and thing is loader and held.get("batch_sampler") is not None and attributes(held["batch_sampler"]).get("sampler") is not inner
            if inner is not None and not dummy and id(inner) not in seen and hasattr(type(inner), "__iter__") and len(found) < _CHAIN_MAX:
                seen.add(id(inner))
                found.append((name.replace("base_", "").lstrip("_"), inner))
    return found


def _text_of(value):
    kind = type(value)
    if kind in (int, bool, float) or value is None:
        return repr(value)[:64]
    return value[:64] if kind is str else None


def _attributes_of(facts, called, thing, names):
    held = attributes(thing)
    for name in names or list(held)[:_OF_ONE]:
        text = _text_of(held[name]) if name in held else None
        key = "%s.%s" % (called, name)
        if text is not None and facts.get(key, text) != text:
            key = "inner." + key
        if text is not None:
            facts.setdefault(key, text)


def _generator_of(facts, chain):
    torch = sys.modules.get("torch")
    for _, thing in reversed(chain):  # the innermost sampler's is what it draws from
        generator = attributes(thing).get("generator")
        if torch is not None and type(generator) is torch.Generator:
            facts["generator.initial_seed"] = str(generator.initial_seed())
            facts["generator.state"] = _of_generator(generator)
            return


_before = None  # of a loader whose __iter__ has begun: (its id, what was known then)


def begins(loader):
    """iter(loader) begins: nothing was drawn for it yet."""
    global _before
    facts = {"begun_ns": str(time.monotonic_ns())}
    facts.update(_rngs())
    facts["place"], caller = places()
    if caller != facts["place"]:
        facts["caller"] = caller
    _before = id(loader), facts


def facts_of(loader, base_seed, round_):
    """Of the iteration that begins."""
    global _before
    if _before is None or _before[0] != id(loader):
        begins(loader)
    facts, _before = _before[1], None
    chain = _chain(loader)
    facts["base_seed"], facts["round"] = str(base_seed), str(round_)
    facts["types"] = " > ".join("%s.%s" % (type(thing).__module__, type(thing).__qualname__) for _, thing in chain)
    for called, thing in chain:
        _attributes_of(facts, called, thing, _OF_LOADERS if called == "loader" else None)
    data = attributes(loader).get("dataset")
    facts["dataset"] = "%s.%s" % (type(data).__module__, type(data).__qualname__)
    _attributes_of(facts, "dataset", data, _OF_DATA)
    facts["num_workers"] = facts.pop("loader.num_workers", "0")
    _generator_of(facts, chain)
    return {key: text for key, text in facts.items() if text}


# ---- calls that save, restore or set state ----

_SAVED_MAX = 32
_saved = []  # the newest paths
_hooked_classes = set()


def _path_of(value):
    if type(value) is str:
        path = value
    elif module_of(type(value)).partition(".")[0] == "pathlib":
        path = str(value)
    else:
        name = attributes(value).get("path") or attributes(value).get("name")  # a storage reader or writer
        if name is None and type(value).__module__ in ("_io", "tempfile"):
            name = getattr(value, "name", None)
        return _path_of(name) if type(name) is str or module_of(type(name)).partition(".")[0] == "pathlib" else ""
    return path if "://" in path else os.path.abspath(path)


def _state(action, via, path="", value="", lasts=True):
    if action == "save":
        _saved[:] = _saved[-_SAVED_MAX:] + [path] * bool(path)
        _hook_renames()
        value = value or "rng.torch=%s" % _rngs().get("rng.torch", "")
    place, caller = places()
    place = place + " < " + caller if place and caller != place else place or caller
    texts = [text.encode("utf-8", "replace").decode()[-400:] for text in (path, place, str(value))]
    return record.state_begin(action, via, *texts, lasts)


def call(action, via, at, *names):
    """What a function is timed with: its path is argument number `at`, or has one of the names."""

    def begins(*args, **kwargs):
        given = [kwargs[name] for name in names if kwargs.get(name) is not None]
        value = args[at] if len(args) > at else given[0] if given else None
        return _state(action, via, _path_of(value) if value is not None else "")

    return begins


def _renamed(source, target, *args, **kwargs):
    try:
        before, now = os.path.abspath(os.fspath(source)), os.path.abspath(os.fspath(target))
    except TypeError:
        return 0
    if type(before) is not str or not any(path == before or path.startswith(before + os.sep) for path in _saved):
        return 0
    return _state("rename", "os.rename", now, before, False)


def _hook_renames():
    """In a process that saves, from its first save on."""
    for name in ("replace", "rename"):
        if not record.is_timed(getattr(os, name)):
            setattr(os, name, record.timed("state", getattr(os, name), _guard(_renamed)))


_guard = None  # of pipeprobe_hooks.py


def _method(name):
    def begins(self, *args, **kwargs):
        via = "%s.%s" % (type(self).__name__, name)
        if name == "set_epoch":
            value = args[0] if args else kwargs.get("epoch", "")
            return _state("set_epoch", via, "", value if type(value) is int else "", False)
        return _state("restore", via)

    return begins


def hook_class(kind):
    """Methods of a loader's, sampler's or data set's class that restore it or set its epoch. Classes of the program itself stay as they are: they may be
    pickled by value, and models' load_state_dict is no matter of data."""
    if kind in _hooked_classes:
        return
    _hooked_classes.add(kind)
    for holder in kind.__mro__:
        if holder.__module__ == "__main__" or module_of(holder).startswith("torch.nn."):
            continue
        for name in ("set_epoch", "load_state_dict"):
            function = holder.__dict__.get(name)
            if type(function).__name__ == "function":
                setattr(holder, name, record.timed("state", function, _guard(_method(name))))


def loader_made(loader):
    for _, thing in _chain(loader):
        hook_class(type(thing))
    hook_class(type(attributes(loader).get("dataset")))
