"""Where an unmodified PyTorch job is recorded. Each hook is put in when its module is imported, by itself: one that does
not fit the version at hand is left out, and the recording says which. The C extension does all the recording.

Nothing here imports what the job does not import, draws a random number, starts a thread, prints or warns."""

import sys

record = None
_counts = {}  # id(loader) is reused: the number is kept with the loader


def _guard(function):
    """Runs a part of ours inside the job: the first exception ends our recording, never the job."""

    def guarded(*args):
        try:
            return function(*args)
        except Exception as e:
            record.off("%s in %s" % (type(e).__name__, function.__name__))
            return None

    return guarded


# ---- the loader, in the process that takes the batches ----


def _length(thing):
    try:
        return len(thing)
    except Exception:
        return 0


def _type_name(thing):
    return "%s.%s" % (type(thing).__module__, type(thing).__qualname__)


def _start_method(loader):
    context = getattr(loader, "multiprocessing_context", None)
    if context is None:
        import multiprocessing

        context = multiprocessing
    return context.get_start_method() if loader.num_workers else "none"


def _state_of(loader):
    """What is known of the loader in this recording."""
    state = loader.__dict__.get("_pipeprobe")
    if state is None or state["session"] != record.session():
        workers = loader.num_workers
        number = record.loader(
            workers,
            loader.batch_size or 0,
            (loader.prefetch_factor or 0) if workers else 0,
            int(loader.timeout),
            bool(loader.pin_memory),
            bool(loader.persistent_workers),
            bool(getattr(loader, "in_order", True)),
            bool(loader.drop_last),
            _length(loader.dataset),
            _length(loader),
            _start_method(loader),
            _type_name(loader.dataset),
            _type_name(getattr(loader, "sampler", None)),
        )
        state = loader.__dict__["_pipeprobe"] = {"number": number, "epochs": 0, "session": record.session()}
    return state


@_guard
def _iterator_made(iterator, loader):
    if record.session():
        _iteration_begins(iterator, loader, _state_of(loader), 0)


def _iteration_begins(iterator, loader, state, round_):
    iterator._pipeprobe_iteration = record.iteration(
        state["number"],
        state["epochs"],
        round_,
        iterator._base_seed & 0xFFFFFFFFFFFFFFFF,
        loader.batch_size or 0,
        _length(loader),
        0 if loader.drop_last else _length(getattr(loader, "sampler", None)),
    )
    iterator._pipeprobe_round = round_
    iterator._pipeprobe_session = state["session"]
    state["epochs"] += 1


@_guard
def _iterator_reset(iterator, loader, first_iter):
    if first_iter or not record.session():
        return
    state = _state_of(loader)
    if getattr(iterator, "_pipeprobe_session", 0) != state["session"]:
        record.note("a loader's persistent workers are older than the recording and not in it")
    _iteration_begins(iterator, loader, state, getattr(iterator, "_pipeprobe_round", 0) + 1)


def _hook_dataloader(module):
    base = module._BaseDataLoaderIter
    made, reset, create = base.__init__, module._MultiProcessingDataLoaderIter._reset, module._DatasetKind.create_fetcher

    def __init__(self, loader, *args, **kwargs):
        made(self, loader, *args, **kwargs)
        _iterator_made(self, loader)

    def _reset(self, loader, first_iter=False):
        _iterator_reset(self, loader, first_iter)
        return reset(self, loader, first_iter)

    def create_fetcher(*args, **kwargs):
        fetcher = create(*args, **kwargs)
        _fetcher_made(fetcher)
        return fetcher

    for ours, theirs in ((__init__, made), (_reset, reset), (create_fetcher, create)):
        _looks_like(ours, theirs)
    base.__init__ = __init__
    module._MultiProcessingDataLoaderIter._reset = _reset
    module._DatasetKind.create_fetcher = staticmethod(create_fetcher)
    base.__next__ = record.next(base.__next__)


def _looks_like(ours, theirs):
    for name in ("__module__", "__name__", "__qualname__", "__doc__"):
        setattr(ours, name, getattr(theirs, name))
    ours.__wrapped__ = theirs


# ---- the fetcher: samples and collation ----


@_guard
def _fetcher_made(fetcher):
    if not record.session():
        return
    if hasattr(fetcher, "dataset_iter"):
        record.fetcher(fetcher, True, record.stream(fetcher.dataset_iter))
    else:
        record.fetcher(fetcher, False, _timed_dataset(fetcher.dataset))
    fetcher.collate_fn = record.collate(fetcher.collate_fn)


def _timed_dataset(dataset):
    """A Subset fetches its batch in one call of its own: its data set is timed instead, in a copy of the Subset, so that
    the job's own object stays as it is."""
    subset = getattr(sys.modules.get("torch.utils.data.dataset"), "Subset", None)
    if type(dataset) is subset and hasattr(dataset, "__getitems__"):
        import copy

        own = copy.copy(dataset)
        own.dataset = _timed_dataset(dataset.dataset)
        return own
    return record.samples(dataset)


# ---- a worker process ----


@_guard
def _worker_arguments(args, at):
    if not record.session():
        return None
    import multiprocessing

    args = list(args)
    parent = multiprocessing.parent_process()
    record.worker_begin(args[at["worker_id"]], parent.pid if parent else 0, args[at["base_seed"]] & 0xFFFFFFFFFFFFFFFF)
    for name in ("index_queue", "data_queue"):
        args[at[name]] = record.queue(args[at[name]])
    return args


def _hook_worker(module):
    original = module._worker_loop
    names = original.__code__.co_varnames[: original.__code__.co_argcount]
    at = {name: names.index(name) for name in ("index_queue", "data_queue", "base_seed", "worker_id")}

    def _worker_loop(*args, **kwargs):
        timed = None if kwargs else _worker_arguments(args, at)
        try:
            return original(*(timed or args), **kwargs)
        finally:
            record.worker_end()

    _looks_like(_worker_loop, original)
    module._worker_loop = _worker_loop


# ---- decoding ----


def _hook_pil_image(module):
    module.open = record.decode(module.open)


def _hook_pil_imagefile(module):
    module.ImageFile.load = record.decode(module.ImageFile.load)


def _hook_cv2(module):
    for name in ("imread", "imdecode"):
        setattr(module, name, record.decode(getattr(module, name)))


# ---- the thread that trains, where another takes the batches ----


def _hook_queue(module):
    module.Queue.put = record.put(module.Queue.put)
    module.Queue.get = record.get(module.Queue.get)


def _hook_autograd(module):
    module.backward = record.backward(module.backward)


_HOOKS = {
    "queue": _hook_queue,
    "torch.autograd": _hook_autograd,
    "torch.utils.data.dataloader": _hook_dataloader,
    "torch.utils.data._utils.worker": _hook_worker,
    "torchdata.stateful_dataloader.worker": _hook_worker,
    "PIL.Image": _hook_pil_image,
    "PIL.ImageFile": _hook_pil_imagefile,
    "cv2": _hook_cv2,
}


# ---- when a module is imported ----

_hooked = set()


def _apply(hook, module, name):
    _hooked.add(name)
    try:
        hook(module)
    except Exception as e:
        record.note("%s is not recorded: %s: %s" % (name, type(e).__name__, str(e)[:80]))


class _Finder:
    """Finds nothing itself: lets the others find the module, and puts the hook behind its execution."""

    def __init__(self):
        self.busy = set()

    def find_spec(self, name, path=None, target=None):
        hook = _HOOKS.get(name)
        if hook is None or name in self.busy:
            return None
        self.busy.add(name)
        try:
            for finder in sys.meta_path:
                find = getattr(finder, "find_spec", None)
                spec = None if finder is self or find is None else find(name, path, target)
                if spec is not None:
                    _put_behind(spec.loader, hook, name)
                    return spec
        finally:
            self.busy.discard(name)
        return None


def _put_behind(loader, hook, name):
    execute = loader.exec_module

    def exec_module(module):
        del loader.exec_module  # the class's own again
        execute(module)
        _apply(hook, module, name)

    loader.exec_module = exec_module


def install(extension):
    global record
    if record is None:
        record = extension
        sys.meta_path.insert(0, _Finder())


def hook_imported():
    """For a process whose recording begins after its imports."""
    for name, hook in _HOOKS.items():
        module = sys.modules.get(name)
        if module is not None and name not in _hooked:
            _apply(hook, module, name)
