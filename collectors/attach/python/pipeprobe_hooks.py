"""Where an unmodified PyTorch job is recorded. Each hook is put in when its module is imported, by itself: one that does
not fit the version at hand is left out, and the recording says which. The C extension does all the recording.

Nothing here imports what the job does not import, draws a random number, starts a thread, prints or warns."""

import os
import sys

import pipeprobe_members
import pipeprobe_names
import pipeprobe_origin

record = None
_iterators_are_seen = False  # when they are made
_in_worker = False  # this process is a worker whose queues are recorded
late = False  # iterators that are older than the recording are recorded as well
_late_states = []  # of their loaders: (weak reference to what gives the indices, state)


def _guard(function):
    """Runs a part of ours inside the job: the first exception ends our recording, never the job."""

    def guarded(*args, **kwargs):
        try:
            return function(*args, **kwargs)
        except Exception as e:
            if _is_a_handlers(e):
                raise
            record.off("%s in %s" % (type(e).__name__, function.__name__))
            return None

    return guarded


def _is_a_handlers(error):
    """A signal handler of the job's raised it, which ran while a part of ours did: a time limit, the end of a SLURM job."""
    signal = sys.modules.get("_signal")
    handlers = [signal.getsignal(number) for number in signal.valid_signals()] if signal else []
    codes = [getattr(getattr(handler, "__func__", handler), "__code__", None) for handler in handlers]
    step = error.__traceback__
    while step is not None and step.tb_frame.f_code not in codes:
        step = step.tb_next
    return step is not None


# ---- a rank whose variables are set while it runs ----


def _take_rank(*told):
    """Ray, and a program that starts its ranks itself, set the variables of a rank in a process that runs already, or none.
    Before its first batch, and when it enters its group, such a process moves from the recording of its launcher into one of
    its own. told: rank and world size, where the variables say nothing."""
    session = os.environ.get("PIPEPROBE_SESSION")
    if not session or not os.environ.get("PIPEPROBE_EXEC_RANKS") or not record.session():
        return
    own = record.rank_session(session, *told)
    if own:
        record.leave()
        os.environ.update(PIPEPROBE_SESSION=own, PIPEPROBE_EXEC_RANKS="")  # for the processes that it starts
        record.join(own)
        _tasks.clear()


# ---- the loader, in the process that takes the batches ----


def _is_torchs(thing):
    return pipeprobe_names.module_of(type(thing)).startswith(("torch.utils.data.", "torchdata.stateful_dataloader."))


def _lengths(loader):
    """(samples of the data set, batches of an epoch, samples of an epoch), 0 for what is not known.

    Asked when torch has asked already: a len() of the user's may draw random numbers or open a file that the workers would
    then share, and len() of a loader of an iterable data set makes torch warn later."""
    outer, sampler = loader.batch_sampler, loader.sampler
    if outer is not None:
        sampler = getattr(outer, "sampler", None)
    if getattr(loader, "_dataset_kind", 1) or not _is_torchs(sampler) or (outer is not None and not _is_torchs(outer)):
        return 0, 0, 0
    epoch = len(sampler)
    source = getattr(sampler, "data_source", getattr(sampler, "dataset", None))
    samples = len(loader.dataset) if source is loader.dataset else epoch
    return samples, epoch if outer is None else len(outer), 0 if loader.drop_last else epoch


def _comes_later(loader):
    """torch asks its samplers for a length when they are made; one that goes in sequence asks its data set with the first
    batch, when the workers have started."""
    sampler = loader.sampler if loader.batch_sampler is None else getattr(loader.batch_sampler, "sampler", None)
    return loader.num_workers > 0 and type(sampler).__name__ == "SequentialSampler"


def _type_name(thing):
    return "%s.%s" % (type(thing).__module__, type(thing).__qualname__)


def _short_name(kind):
    """As the job's author calls it: "Table", "pandas.DataFrame"."""
    package = str(kind.__module__).partition(".")[0]
    return kind.__qualname__ if package == "__main__" else "%s.%s" % (package, kind.__qualname__)


def _inner(dataset):
    """The data set that a Subset takes its samples from."""
    subset = getattr(sys.modules.get("torch.utils.data.dataset"), "Subset", None)
    for _ in range(4):
        if type(dataset) is not subset:
            break
        dataset = pipeprobe_names.attributes(dataset).get("dataset")
    return dataset


def _sample_code(loader):
    """What makes a sample: "Table.__getitem__"."""
    kind = type(_inner(loader.dataset))
    subset = getattr(sys.modules.get("torch.utils.data.dataset"), "Subset", None)
    by_batch = hasattr(subset, "__getitems__") and getattr(kind, "__getitems__", None) is not None
    iterable = getattr(loader, "_dataset_kind", 0) == 1
    return "%s.%s" % (_short_name(kind), "__iter__" if iterable else "__getitems__" if by_batch else "__getitem__")


_HELD_MAX = 6
_MANY_OBJECTS = 100000


def _held(dataset):
    """What its samples are made of: the types of other packages among its attributes, and those of data sets in it."""
    base = getattr(sys.modules.get("torch.utils.data.dataset"), "Dataset", ())
    names, seen = [], [_inner(dataset)]
    for thing in seen:  # it grows
        for value in list(pipeprobe_names.attributes(thing).values())[:64]:
            kind = type(value)
            if issubclass(kind, base) and len(seen) < 4:
                seen.append(value)
            if kind in (list, tuple, dict):
                name = "%s of %d" % (kind.__name__, len(value)) if len(value) >= _MANY_OBJECTS else ""
            else:
                name = "" if kind.__module__ in ("builtins", "__main__") else _short_name(kind)
            if name and name not in names:
                names.append(name)
    return ", ".join(names[:_HELD_MAX])


def _sampler_name(loader):
    outer, sampler = getattr(loader, "batch_sampler", None), getattr(loader, "sampler", None)
    if outer is not None and not _is_torchs(outer) and _is_torchs(sampler):
        sampler = outer  # torch makes a SequentialSampler besides, which nobody asks
    name = _type_name(sampler)
    return name[:50] + "(replacement)" if _is_torchs(sampler) and getattr(sampler, "replacement", False) is True else name


def _start_method(loader):
    context = getattr(loader, "multiprocessing_context", None)
    if context is None:
        import multiprocessing

        context = multiprocessing
    return context.get_start_method() if loader.num_workers else "none"


_NAME_MAX = 150  # characters of a sample's name: the end of it
_ENDED_MAX = 64
_WORKER_PIDS_MAX = 4096
_worker_pids = {}  # of the iterators so far: the number of each worker, by its process
_ended = {}  # states of loaders that are gone, by their arguments; the oldest first
_states = {}  # by the loaders' ids: (weak reference to the loader, state). Its own dictionary stays as it is, for pickle and copy


def _remember(loader, state):
    import weakref

    for key, (of, ended) in list(_states.items()):  # no callback, which might run anywhere in the job
        if of() is None:
            _states.pop(key, None)
            _ended[ended["arguments"]] = ended
            if len(_ended) > _ENDED_MAX:
                del _ended[next(iter(_ended))]
    _states[id(loader)] = weakref.ref(loader), state
    return state


def _ended_like(arguments):
    """A loader that is made anew for each epoch is the one that was."""
    for key, (of, state) in list(_states.items()):
        if of() is None and state["arguments"] == arguments:
            return _states.pop(key, (None, None))[1]
    return _ended.pop(arguments, None)


@_guard
def _say_made_of(loader):
    """Of the first loader: the versions, and where its data is."""
    torch = str(getattr(sys.modules.get("torch.version"), "__version__", ""))
    versions = "Python %d.%d.%d" % sys.version_info[:3] + (", torch " + torch if torch else "")
    record.made_of(versions[:90], pipeprobe_names.data_of(loader.dataset))


def _state_of(loader):
    """What is known of the loader in this recording."""
    of, state = _states.get(id(loader), (None, None))
    state = state if of is not None and of() is loader else None
    if state is not None:
        state["made_again"] = False
    if _late_states and (state is None or state["session"] != record.session()):
        indices = loader.sampler if loader.batch_sampler is None else loader.batch_sampler
        found = _late_state(indices)
        state = _remember(loader, found) if found else state
    if state is None or state["session"] != record.session():
        workers = loader.num_workers
        lengths = (0, 0, 0) if _comes_later(loader) else _lengths(loader)
        arguments = (
            workers,
            loader.batch_size or 0,
            (loader.prefetch_factor or 0) if workers else 0,
            int(loader.timeout),
            bool(loader.pin_memory),
            bool(loader.persistent_workers),
            bool(getattr(loader, "in_order", True)),
            bool(loader.drop_last),
            lengths[0],
            lengths[1],
            _start_method(loader),
            _type_name(loader.dataset),
            _sampler_name(loader),
            _sample_code(loader),
            _held(loader.dataset),
            *pipeprobe_names.place_of(loader)
        )
        state = _ended_like(arguments)
        if state is not None and state["session"] == record.session():
            state["made_again"] = True
        else:
            _say_made_of(loader)
            state = dict(number=record.loader(*arguments), epochs=0, session=record.session(), arguments=arguments)
        state["lengths"] = lengths  # those that come later may be others: the arguments do not tell
        _remember(loader, state)
    return state


@_guard
def _loader_made(loader):
    pipeprobe_names.loader_made(loader)
    if record.session():
        _extra("classes of loaders", pipeprobe_origin.loader_made, loader)


def _hook_made(module):
    """What every constructor of a loader calls, and nothing else. __init__ itself stays as it is: frameworks look at its arguments."""
    _hook_method(module.DataLoader, "check_worker_number_rationality", "before", _loader_made)


def _sample_name(data, key, made):
    """The first trouble ends the naming, and nothing else."""
    try:
        return pipeprobe_names.sample_name(data, key, made)[-_NAME_MAX:]
    except Exception as e:
        if _is_a_handlers(e):
            raise
        record.names(None)
        return ""


def row_of(loader):
    """Its number among the loaders of this process in the recording; -1: it has none."""
    of, state = _states.get(id(loader), (None, None))
    return state["number"] if of is not None and of() is loader else -1


def _extra(what, function, *args):
    """What the rest of the recording goes on without."""
    try:
        return function(*args)
    except Exception as e:
        if _is_a_handlers(e):
            raise
        record.note("%s: not recorded (%s: %s)" % (what, type(e).__name__, str(e)[:80]))
        return {}


@_guard
def _iterator_made(iterator, loader, *args, **kwargs):
    _take_rank()
    if _replaced_late and loader.num_workers and _start_method(loader) != "fork":
        _put_back()
    if record.session():
        loader = loader if hasattr(loader, "batch_sampler") else _stand_in(iterator, loader)
        _iteration_begins(iterator, loader, _state_of(loader), 0)


def _iteration_begins(iterator, loader, state, round_):
    iterator._pipeprobe_iteration = record.iteration(
        state["number"],
        state["epochs"],
        round_,
        iterator._base_seed & 0xFFFFFFFFFFFFFFFF,
        loader.batch_size or 0,
        state["lengths"][1],
        state["lengths"][2],
        bool(getattr(loader, "in_order", True)),
        not state["lengths"][1] and _comes_later(loader),
        state.get("made_again", False),
        getattr(loader, "_dataset_kind", 0) == 1,
    )
    if not isinstance(loader, _Loader):
        facts = _extra("facts of iterations", pipeprobe_origin.facts_of, loader, iterator._base_seed, round_)
        record.facts(iterator._pipeprobe_iteration, facts)
    iterator._pipeprobe_round = round_
    iterator._pipeprobe_session = state["session"]
    state["epochs"] += 1


@_guard
def _iterator_reset(iterator, loader, first_iter=False, *args, **kwargs):
    if not record.session() or not _iterators_are_seen:
        return
    known = getattr(iterator, "_pipeprobe_session", 0) == record.session()
    if not first_iter:
        if not known:
            record.note("a loader's persistent workers are older than the recording and not in it")
        _iteration_begins(iterator, loader, _state_of(loader), getattr(iterator, "_pipeprobe_round", 0) + 1)
    elif known:  # its workers are started; a restored StatefulDataLoader has the seed of the state
        record.reseed(iterator._pipeprobe_iteration, iterator._base_seed & 0xFFFFFFFFFFFFFFFF)
        if len(_worker_pids) >= _WORKER_PIDS_MAX:
            _worker_pids.clear()
        _worker_pids.update({worker.pid: n for n, worker in enumerate(getattr(iterator, "_workers", ()))})
    thread = iterator.__dict__.get("_pin_memory_thread")
    if thread is not None:
        thread._pipeprobe_iteration = getattr(iterator, "_pipeprobe_iteration", None)


# ---- an iterator that is older than the recording ----


def _late_state(sampler):
    for of, state in _late_states:
        if of() is sampler and state["session"] == record.session():
            return state
    return None


class _Loader:
    """What an iterator knows of the loader that made it, under the loader's own names; maker: what made it and is no DataLoader."""

    def __init__(self, iterator, maker=None):
        index, batched = iterator._index_sampler, iterator._auto_collation
        self.batch_sampler = index if batched else None
        self.sampler = getattr(index, "sampler", None) if batched else index
        self.batch_size = getattr(index, "batch_size", None) if batched else None
        self.drop_last = iterator._drop_last
        self.dataset = iterator._dataset
        self.num_workers = iterator._num_workers
        self.prefetch_factor = getattr(iterator, "_prefetch_factor", None)
        self.timeout = iterator._timeout
        self.pin_memory = iterator._pin_memory
        self.persistent_workers = getattr(iterator, "_persistent_workers", False)
        self.in_order = getattr(iterator, "_in_order", True)
        self._dataset_kind = iterator._dataset_kind
        self.multiprocessing_context = self
        self._workers = getattr(iterator, "_workers", None)
        for name in vars(self):
            setattr(self, name, getattr(maker, name, getattr(self, name)))

    def get_start_method(self):
        import multiprocessing

        return getattr(self._workers[0], "_start_method", None) or multiprocessing.get_start_method()


_stand_ins = []  # (weak reference to a maker of iterators, what stands for it)


def _stand_in(iterator, maker):
    """For what gives itself to torch's iterators and is no DataLoader, as fastai does: the same one while it lives."""
    import weakref

    _stand_ins[:] = [(of, loader) for of, loader in _stand_ins if of() is not None]
    for of, loader in _stand_ins:
        if of() is maker:
            return loader
    _stand_ins.append((weakref.ref(maker), _Loader(iterator, maker)))
    return _stand_ins[-1][1]


@_guard
def _first_batch(iterator):
    """Called before each batch of an iterator that has no iteration in this recording, and where the lengths came later."""
    if getattr(iterator, "_pipeprobe_session", 0) != record.session():
        if late and record.session():
            _iterator_is_late(iterator)
        return
    iteration = getattr(iterator, "_pipeprobe_iteration", None)
    if iteration is not None:
        loader = _Loader(iterator)
        try:
            lengths = _lengths(loader)
        except Exception as e:  # the user's len(); torch has had its answer
            if _is_a_handlers(e):
                raise
            lengths = (0, 0, 0)
        record.lengths(iteration, *lengths)
        for of, state in list(_states.values()):
            maker = of()
            if maker is not None and (iterator._index_sampler is maker.sampler or iterator._index_sampler is maker.batch_sampler):
                state["lengths"] = lengths


def _iterator_is_late(iterator):
    iterator._pipeprobe_session = record.session()  # tried once
    try:
        taken = iterator._num_yielded
        sent = getattr(iterator, "_send_idx", taken)
        loader = _Loader(iterator)
        state = _late_state(iterator._index_sampler)
        if state is None:
            state = _state_of(loader)
            import weakref

            _late_states.append((weakref.ref(iterator._index_sampler), state))
        iterator._pipeprobe_row = state["number"]
        _iteration_begins(iterator, loader, state, getattr(iterator, "_pipeprobe_round", 0))
        record.resume(iterator._pipeprobe_iteration, taken, sent)
        fetcher = getattr(iterator, "_dataset_fetcher", None)
        if fetcher is not None and not loader.num_workers:
            _fetcher_made(fetcher)
    except Exception as e:
        if _is_a_handlers(e):
            raise
        record.note("a loader that was iterated before is not recorded until it begins anew (%s)" % str(e)[:80])


def enter_worker():
    """In a worker that runs already: its loop gets the queues and the fetcher as if it had begun with them."""
    global _in_worker
    module = sys.modules.get("torch.utils.data._utils.worker")
    frame = sys._getframe()
    if module is None or module._worker_info is None or _in_worker:
        return _in_worker
    while frame is not None and not (frame.f_code.co_name == "_worker_loop" and "data_queue" in frame.f_locals):
        frame = frame.f_back
    if frame is None:
        raise RuntimeError("the loop of the worker was not found")
    import multiprocessing

    names = frame.f_locals  # written through to the frame since Python 3.13
    parent = multiprocessing.parent_process()
    record.worker_begin(names["worker_id"], parent.pid if parent else 0, names["base_seed"] & 0xFFFFFFFFFFFFFFFF, True)
    for name in ("index_queue", "data_queue"):
        names[name] = record.queue(names[name])
    _in_worker = True
    if names.get("fetcher") is not None:
        _fetcher_made(names["fetcher"])
    return True


def _hook_iterators(module):
    global _iterators_are_seen
    base = module._BaseDataLoaderIter
    base.__init__ = record.timed("after", record.timed("draws", base.__init__), _iterator_made)  # iter(sampler)
    _iterators_are_seen = True
    base.__next__ = record.timed("next", base.__next__, _first_batch)


@_guard
def _loader_begins(loader, *args):
    _take_rank()
    if record.session():
        _extra("facts of iterations", pipeprobe_origin.begins, loader)


def _hook_begin(module, class_="DataLoader"):
    _hook_method(getattr(module, class_), "__iter__", "begins")
    _hook_method(getattr(module, class_), "__iter__", "before", _loader_begins)
    if class_ == "DataLoader":
        _hook_method(module._BaseDataLoaderIter, "_reset", "draws")


def _hook_stateful_begin(module):
    _hook_begin(module, "StatefulDataLoader")


def _hook_gpu(module):
    """CUPTI's records are complete while CUDA still works: before the interpreter ends, not behind it."""
    import atexit

    atexit.register(record.gpu_end)


@_guard
def _profiler_begins(*args, **kwargs):
    record.gpu_yield("PyTorch's profiler, which the job has started")


def _hook_profiler(module):
    """The job's own: CUPTI serves one at a time, and it is the job's."""
    module._prepare_profiler = record.timed("before", module._prepare_profiler, _profiler_begins)
    if sys.modules["torch._C"]._autograd._profiler_enabled():  # the recording begins in a job that is profiled
        _profiler_begins()


def _hook_reset(module):
    _hook_method(module._MultiProcessingDataLoaderIter, "_reset", "before", _iterator_reset)


def _hook_stateful_reset(module):
    _hook_method(module._StatefulMultiProcessingDataLoaderIter, "_reset", "before", _iterator_reset)


def _hook_method(class_, name, kind, *callback):
    setattr(class_, name, record.timed(kind, class_.__dict__[name], *callback))


def _plain(function):
    return getattr(function, "__wrapped__", function)


def _hook_depth(module):
    """Read before each batch, where these are the iterator's."""
    iterators = module._MultiProcessingDataLoaderIter
    names = iterators.__init__.__code__.co_names + _plain(iterators._reset).__code__.co_names
    missing = [n for n in ("_data_queue", "_task_info", "_tasks_outstanding") if n not in names]
    if missing:
        raise AttributeError("no %s" % ", ".join(missing))
    record.depths()


def _hook_next_index(module):
    _hook_method(module._BaseDataLoaderIter, "_next_index", "index")


def _hook_get_data(module):
    _hook_method(module._MultiProcessingDataLoaderIter, "_get_data", "received")


def _hook_fetcher(module):
    fetch = sys.modules["torch.utils.data._utils.fetch"]
    for name in ("_MapDatasetFetcher", "_IterableDatasetFetcher"):
        _hook_method(getattr(fetch, name), "fetch", "fetch")
    kind = module._DatasetKind
    kind.create_fetcher = staticmethod(record.timed("result", kind.create_fetcher, _fetcher_made))


def _arguments(function, *names):
    """Where a function has these arguments; one that is missing is an error."""
    has = function.__code__.co_varnames[: function.__code__.co_argcount]
    return {name: has.index(name) for name in names}


# ---- the fetcher: samples and collation ----


@_guard
def _fetcher_made(fetcher):
    if not record.session():
        return
    if not _in_worker and sys.modules["torch.utils.data._utils.worker"]._worker_info is not None:
        return  # a worker whose queues are not recorded: its samples would belong to no batch
    _note_members(fetcher.dataset, fetcher.collate_fn)
    if hasattr(fetcher, "dataset_iter"):
        record.fetcher(fetcher, True, record.stream(fetcher.dataset_iter))
    else:
        record.fetcher(fetcher, False, _timed_dataset(fetcher.dataset))
    fetcher.collate_fn = record.timed("collate", fetcher.collate_fn)


def _note_members(dataset, collate):
    """Names of ops are an extra: without them the recording goes on."""
    try:
        pipeprobe_members.note(os.environ.get("PIPEPROBE_SESSION", ""), dataset, collate)
    except Exception as e:
        if _is_a_handlers(e):
            raise


def _timed_dataset(dataset):
    """A Subset fetches its batch in one call of its own: its data set is timed instead, in a copy of the Subset, so that
    the job's own object stays as it is."""
    subset = getattr(sys.modules.get("torch.utils.data.dataset"), "Subset", None)
    if type(dataset) is subset and hasattr(dataset, "__getitems__") and not hasattr(dataset.dataset, "__getitems__"):
        import copy

        own = copy.copy(dataset)
        own.dataset = record.samples(dataset.dataset)
        return own
    return record.samples(dataset)


# ---- a worker process ----


def _hook_worker(module):
    original = module._worker_loop
    at = _arguments(original, "index_queue", "data_queue", "base_seed", "worker_id")

    @_guard
    def worker_begins(*args):
        global _in_worker
        if not record.session():
            return None
        import multiprocessing

        args = list(args)
        parent = multiprocessing.parent_process()
        round_ = getattr(multiprocessing.current_process(), "_pipeprobe_round", 0)  # of one that joins an iteration (pipeprobe_live.py)
        record.worker_begin(args[at["worker_id"]], parent.pid if parent else 0, args[at["base_seed"]] & 0xFFFFFFFFFFFFFFFF, False, round_)
        for name in ("index_queue", "data_queue"):
            args[at[name]] = record.queue(args[at[name]])
        _in_worker = True
        return tuple(args), record.worker_end

    module._worker_loop = record.timed("around", original, worker_begins)
    importer = sys.modules.get("torchdata.stateful_dataloader.stateful_dataloader")
    if getattr(importer, "_worker_loop", None) is original:  # it is the target of its processes
        importer._worker_loop = module._worker_loop


# ---- the thread that pins memory ----


def _hook_pin_memory(module):
    original = module._pin_memory_loop
    at = _arguments(original, "in_queue", "out_queue")

    @_guard
    def pinning_begins(*args):
        if not record.session():
            return None
        import threading

        args, thread = list(args), threading.current_thread()
        record.pin_begin()
        for name in ("in_queue", "out_queue"):
            args[at[name]] = record.queue(args[at[name]], thread)
        return tuple(args), record.pin_end

    module._pin_memory_loop = record.timed("around", original, pinning_begins)


# ---- reading, decoding, saving ----


_hooking_late = False
_replaced_late = []  # functions that the job may hold already: (holder, name, function)


def _put_back():
    """Before workers that are spawned: what the job holds is pickled by its name, and must be what it finds there. The
    workers have hooks of their own."""
    for holder, name, function in _replaced_late:
        if record.is_timed(getattr(holder, name, None)):
            setattr(holder, name, function)
        _hooked.discard(holder.__name__)  # for a recording that begins later
    del _replaced_late[:]


def leave():
    """This process is not recorded any more, until it joins another recording."""
    record.leave()
    _put_back()


def _replace(holder, kind, *names):
    """Those of them that this version has; none is an error. A package may have them from its module already."""
    there = [name for name in names if hasattr(holder, name)] or names
    package = sys.modules.get(holder.__name__.rpartition(".")[0])
    for name in there:
        function = getattr(holder, name)
        if not record.is_timed(function):
            timed = record.timed(kind, function)
            setattr(holder, name, timed)
            also = getattr(package, name, None) is function
            if also:
                setattr(package, name, timed)
            if _hooking_late and kind in ("decode", "unpack", "read") and not isinstance(holder, type):
                _replaced_late.extend([(holder, name, function)] + [(package, name, function)] * also)


# What decodes samples, by the module that has it. An extension type's own methods (PyAV, lmdb) cannot be replaced.
_IMAGE_CODECS = {"PIL.Image": "open", "PIL.ImageFile": "ImageFile.load", "cv2": "imread imdecode"}
_VIDEO = ("__getitem__", "get_frame_at", "get_frames_at", "get_frames_in_range", "get_frame_played_at", "get_frames_played_at", "get_frames_played_in_range")
_CODECS = {
    "soundfile": "SoundFile.read",
    "torchcodec.decoders._audio_decoder": "AudioDecoder.get_all_samples AudioDecoder.get_samples_played_in_range",
    "torchcodec.decoders._video_decoder": " ".join("VideoDecoder." + name for name in _VIDEO),
    "torchvision.io.video": "read_video",
    "decord.video_reader": "VideoReader.__getitem__ VideoReader.get_batch VideoReader.next",
    "tifffile.tifffile": "imread TiffFile.asarray TiffPage.asarray",
    "pydicom.dataset": "Dataset.convert_pixel_data",
    "nibabel.dataobj_images": "DataobjImage.get_fdata",
    "imageio.v2": "imread",
    "imageio.v3": "imread",
    "skimage.io._io": "imread",
    "turbojpeg": "TurboJPEG.decode",
    "h5py._hl.dataset": "Dataset.__getitem__ Dataset.read_direct",
    "zarr.core.array": "Array.__getitem__",
    "pyarrow.parquet.core": "read_table ParquetFile.read ParquetFile.read_row_group ParquetFile.read_row_groups",
}


def _hook_decoding(module):
    image = module.__name__ in _IMAGE_CODECS
    for name in (_IMAGE_CODECS if image else _CODECS)[module.__name__].split():
        holder, _, function = name.rpartition(".")
        _replace(getattr(module, holder) if holder else module, "decode" if image else "unpack", function)


def _needs_weak_references():
    """TorchScript compiles the functions of torchvision.io, and keeps weak references to them."""
    if sys.version_info < (3, 9):
        raise TypeError("needs Python 3.9")


def _hook_torchvision_decode(module):
    _needs_weak_references()
    formats = ("image", "jpeg", "png", "gif", "webp", "avif", "heic")
    _replace(module, "decode", *["decode_" + name for name in formats])


def _hook_torchvision_read(module):
    _needs_weak_references()
    _replace(module, "read", "read_file")


def _hook_save(module):
    _replace(module, "save", "save")
    _hook_state(module, "save", "save", 1, "f")


# ---- state that is saved and restored ----


def _hook_state(module, action, name, at, *names):
    """A function whose argument number `at`, or the one of these names, is a path; what this version does not have is none."""
    function, package = getattr(module, name, None), sys.modules.get(module.__name__.rpartition(".")[0])
    if function is None:
        return
    via = "%s.%s" % (module.__name__.replace("torch.serialization", "torch"), name)
    timed = record.timed("state", function, _guard(pipeprobe_origin.call(action, via, at, *names)))
    if getattr(package, name, None) is function:
        setattr(package, name, timed)
    setattr(module, name, timed)


def _hook_load(module):
    _hook_state(module, "restore", "load", 0, "f")


def _hook_safetensors(module):
    for name in ("save_file", "save_model"):
        _hook_state(module, "save", name, 1, "filename")
    _hook_state(module, "restore", "load_file", 0, "filename")
    _hook_state(module, "restore", "load_model", 1, "filename")


def _hook_lightning(module):
    _hook_state(module, "save", "_atomic_save", 1, "filepath")
    _hook_state(module, "restore", "_load", 0, "path_or_url")


def _hook_sharded_save(module):
    for name in ("save", "async_save", "save_state_dict"):
        _hook_state(module, "save", name, 9, "checkpoint_id", "storage_writer")


def _hook_sharded_load(module):
    for name in ("load", "load_state_dict"):
        _hook_state(module, "restore", name, 9, "checkpoint_id", "storage_reader")


def _hook_streams(module):
    pipeprobe_origin.hook_class(module.IterableDataset)


def _hook_dynamo(module):
    """What is called for a function of the job's is no part of it: torch.compile leaves our code alone, without a look."""
    skip_code, empty, seen = getattr(module, "skip_code", None), type((lambda: seen).__closure__[0])(), set()

    def skip(thing):
        code = getattr(thing, "__code__", thing)
        if type(code) is type(skip.__code__) and id(thing) not in seen:
            seen.add(id(thing))
            skip_code(code)
            for inner in code.co_consts + tuple(cell.cell_contents for cell in getattr(thing, "__closure__", None) or () if cell != empty):
                skip(inner)

    for name in [name for name in sys.modules if skip_code and name.startswith("pipeprobe_")]:
        for thing in list(vars(sys.modules[name]).values()):
            skip(thing)


# ---- the thread that trains, where another takes the batches ----


def _hook_queue(module):
    _replace(module.Queue, "put", "put")
    _replace(module.Queue, "get", "get")


def _hook_unpickling(module):
    """Of what comes through multiprocessing's queues: a part of the wait for it, and not of its making."""
    module.ForkingPickler.loads = staticmethod(record.timed("loads", module.ForkingPickler.loads))


@_guard
def _pickled(thing, file, *args, **kwargs):
    if getattr(getattr(thing, "_target", None), "__name__", "") == "_worker_loop":
        record.pickled(file.tell())


def _hook_pickling(module):
    """Of the workers that are not forked."""
    module.dump = record.timed("after", module.dump, _pickled)


def _kind_of_older(theirs):
    """The type of a class of which the objects of theirs, made before, are instances as well."""
    import abc

    class Kind(abc.ABCMeta):
        def __instancecheck__(cls, thing):
            return isinstance(thing, theirs) if theirs in cls.__bases__ else super().__instancecheck__(thing)

        def __subclasscheck__(cls, other):
            return issubclass(other, theirs) if theirs in cls.__bases__ else super().__subclasscheck__(other)

    return Kind


_plain_queue = None  # in C, once another stands in its place


def _hook_simple_queue(module):
    """Its methods are in C and not to be replaced: a subclass takes its place in the module."""
    global _plain_queue
    theirs = _plain_queue = module.SimpleQueue

    kinds = {"put": "put", "put_nowait": "put", "get": "get", "get_nowait": "get"}
    timed = {name: record.timed(kind, getattr(theirs, name)) for name, kind in kinds.items()}
    if _hooking_late or sys.version_info < (3, 9):
        ours = _kind_of_older(theirs)(theirs.__name__, (theirs,), {"__module__": theirs.__module__, "__doc__": theirs.__doc__, **timed})
    else:
        ours = record.subclass(theirs, "%s.%s" % (theirs.__module__, theirs.__name__), dict(timed, __doc__=theirs.__doc__))
    for place in (module, sys.modules[theirs.__module__]):  # where the class is pickled by its name
        place.SimpleQueue = ours


def _hook_future(module):
    _replace(module.Future, "resolve", "set_result")
    _replace(module.Future, "outcome", "result")


def _hook_autograd(module):
    timed = record.timed("backward", module.backward, _pass_begins)
    module.backward = timed
    record.grad(sys.modules["torch._C"].is_grad_enabled)


def _hook_optimizer(module):
    """Called behind each step: that is what trains where no backward is seen. torch.compile, which traces it, finds nothing in it."""
    torch, optimized = module.torch, record.optimized

    def _optimizer_step_code(self):
        for owner in ("compiler", "_utils"):  # PyTorch 2.1 and 2.2 have it in the second alone, and before there is none
            is_compiling = getattr(getattr(torch, owner, None), "is_compiling", None)
            if is_compiling:
                break
        if is_compiling is None or not is_compiling():
            optimized()

    module.Optimizer._optimizer_step_code = _optimizer_step_code


# ---- loops without a DataLoader: waits for what pools, threads and processes make ----


def _hook_waiter(module):
    """as_completed() waits for an event, and not for the future that it then gives."""
    _hook_method(module._Waiter, "__init__", "after", _waiter_made)


@_guard
def _waiter_made(waiter):
    waiter.event.wait = record.timed("take", waiter.event.wait)


_tasks = {}  # (pool of threads, function): how often it was given it


@_guard
def _task_given(*args, **kwargs):  # as submit() has them: any name may be an argument of the job's function
    pool = vars(args[0]).setdefault("_pipeprobe_pool", object())  # the id of one that has gone may be the next one's
    function = getattr(args[1], "func", args[1]) if args[1:] else None  # of a partial, what it calls
    key = pool, str(getattr(function, "__qualname__", "") or type(function).__qualname__)
    if key in _tasks or len(_tasks) < 64:
        _tasks[key] = _tasks.get(key, 0) + 1


def _mixed():
    """Of the loaders of this process: what a report mixes, as a sentence."""
    has_loader, taken, aside = record.loops()
    if has_loader and (taken >= _SAID_FROM or aside >= _SAID_FROM):
        said = ["%d %s" % counted for counted in ((taken, "judged together with those"), (aside, "not judged")) if counted[0]]
        return "besides the batches of the DataLoader, about %d of %s were taken (%s): record the job without the DataLoader for these" % (
            taken + aside, _gives or "another loader or a loop of the job's own", ", ".join(said))
    pools = {}
    for (pool, name), n in list(_tasks.items()) if taken and not has_loader else ():
        if n >= _SAID_FROM:
            pools.setdefault(pool, []).append((n, name))
    tasks = sorted(max(pools.values(), key=len, default=()), reverse=True)
    if tasks[1:]:
        said = ["%s (%d tasks)" % (_ascii(name).replace("<locals>.", "")[-30:], n) for n, name in tasks[:3]]
        return "a pool of threads runs %s: all count as making batches; give other work a pool of its own" % " and ".join(said)
    return ""


_SAID_FROM = 10  # batches, or tasks


def _hook_pool_task(module):
    _replace(module._WorkItem, "task", "run")
    _replace(module.ThreadPoolExecutor, "dispatch", "submit")
    _hook_method(module.ThreadPoolExecutor, "submit", "before", _task_given)


def _hook_process_queues(module):
    for kind in (module.Queue, module.SimpleQueue):
        _replace(kind, "queued", "get")
        _replace(kind, "give", "put")


class _Tasks:
    """Of a pool of threads, each recorded."""

    def __init__(self, queue):
        self._get = queue.get

    def get(self):
        task = self._get()
        return task and (*task[:2], record.timed("task", task[2]), *task[3:])


def _hook_process_pool(module):
    _replace(module.IMapIterator, "take", "next", "__next__")
    _replace(module.ApplyResult, "take", "get")
    process = module.ThreadPool.Process

    def thread(context, *args, **kwargs):
        if kwargs.get("target") is module.worker:
            kwargs["args"] = (_Tasks(kwargs["args"][0]), *kwargs["args"][1:])
        return process(context, *args, **kwargs)

    names = set(module.ThreadPool._setup_queues.__code__.co_names)
    if not _plain_queue or names != {"queue", "SimpleQueue", "_inqueue", "_outqueue", "put", "_quick_put", "get", "_quick_get"}:
        raise AttributeError("other queues of ThreadPool: %s" % ", ".join(sorted(names)))

    def queues(pool):
        """From which no thread takes batches. They come and go with the pool."""
        pool._inqueue, pool._outqueue = _plain_queue(), _plain_queue()
        pool._quick_put, pool._quick_get = pool._inqueue.put, pool._outqueue.get

    module.ThreadPool.Process, module.ThreadPool._setup_queues = staticmethod(thread), queues


def _hook_joblib(module):
    """It polls for results, by sleeping. No frame of ours is in a traceback."""
    from collections.abc import Generator
    from itertools import chain, islice, repeat

    take = record.timed("take", next)
    gets = {name: getattr(module.Parallel, name) for name in ("_get_outputs", "_get_sequential_output")}  # both, or none

    class Results(chain):
        """Of a generator, whose first is none."""

        def __new__(cls, generator):
            results = super().__new__(cls, islice(generator, 1), map(take, repeat(generator)))
            results._generator = generator
            return results

        def __getattr__(self, name):  # close()
            if name == "_generator":
                raise AttributeError(name)
            return getattr(self._generator, name)

    Generator.register(Results)
    for name, get in gets.items():
        setattr(module.Parallel, name, (lambda get: lambda *args, **kwargs: Results(get(*args, **kwargs)))(get))


def _hook_conditions(module):
    """Not those of threading itself: a thread that starts another one waits for an Event, and for no batch."""
    if not record.is_timed(module.Condition.wait):
        _hook_method(module.Condition, "wait", "condition", module.Condition.wait_for)
        _hook_method(module.Event, "wait", "condition", module.Event.wait)


def _hook_event_loop(module):
    _replace(module.BaseEventLoop, "take", "run_until_complete")


def _hook_event_queue(module):
    """Whose get() waits for nothing, and in no loop, where there is something."""
    _replace(module.Queue, "wait", "get_nowait")


def _hook_selector(module):
    """A loop that the whole training runs in waits where it polls."""
    _hook_method(module.BaseSelectorEventLoop, "__init__", "after", _loop_made)
    _hook_method(module.BaseSelectorEventLoop, "close", "before", _loop_closes)


@_guard
def _loop_made(loop, *args, **kwargs):
    selector = loop._selector
    _extra("waits in an event loop", lambda: setattr(selector, "select", record.timed("wait", selector.select)))


@_guard
def _loop_closes(loop):
    getattr(loop._selector, "__dict__", {}).pop("select", None)  # it holds the selector


def _hook_child(module):
    _hook_method(module.BaseProcess, "_bootstrap", "before", _child_begins)


@_guard
def _child_begins(process, *args, **kwargs):
    record.child(process._parent_pid)


# Other frameworks' loaders: where the wait for the next batch is, by module: class, method.
_ITERATORS = {
    "grain._src.python.data_loader": ("DataLoaderIterator", "__next__"),
    "tensorflow.python.data.ops.iterator_ops": ("OwnedIterator", "__next__"),
    "nvidia.dali.pipeline": ("Pipeline", "run"),
    "nvidia.dali.plugin.base_iterator": ("_DaliBaseIterator", "_get_outputs"),
    "spdl.pipeline._pipeline": ("Pipeline", "get_item"),
    "torchdata.nodes.loader": ("LoaderIterator", "next"),
}


def _hook_grain(module):
    """Every iterator of its Dataset API has a __next__ that is decorated with this; the outermost one is the wait."""
    decorate = module.record_next_duration_if_output
    record.framework()
    module.record_next_duration_if_output = lambda function: record.timed("batch", decorate(function))


def _hook_grain_stages(module):
    _hook_method(module._DefaultStats, "record_self_time", "stage", _grain_stage)


_stages = {}  # 1: decodes, 2: collates, 0: anything else, by the name of a node


@_guard
def _grain_stage(stats, *args):
    name = stats._config.name
    if name not in _stages:
        kind, _, function = name.lower().partition("transform=")
        _stages[name] = 1 if "decode" in function else 2 if kind.startswith("batch") else 0
    return _stages[name]


class _Batches:
    """What a generator gives, each wait for it recorded."""

    def __init__(self, generator):
        self._next = record.timed("batch", generator.__next__)

    def __iter__(self):
        return self

    def __next__(self):
        record.stands_in()
        return self._next()


def _hook_keras(module):
    """The threads and processes of a PyDataset. TensorFlow asks in a thread of its own, and has nothing ready meanwhile."""
    get = module.OrderedEnqueuer.get

    def batches(enqueuer):
        global _gives
        _gives = "keras"
        return _Batches(get(enqueuer))

    module.OrderedEnqueuer.get = batches
    record.framework()


def _hook_iterator_of(module):
    holder, name = _ITERATORS[module.__name__]
    _hook_method(getattr(module, holder), name, "batch")


# ---- waits for the other ranks of a job ----

_engine = None  # of autograd, once a job has a group of ranks


@_guard
def _group_made(*args, **kwargs):
    """Collectives of gloo and MPI end when their calls do; those of NCCL are only begun, and end on the GPU."""
    global _engine
    torch, groups = sys.modules["torch"], sys.modules["torch.distributed.distributed_c10d"]
    _take_rank(groups.get_rank(), groups.get_world_size())
    backend = str(groups.get_backend()).lower()
    no_gpu = torch.version.cuda is None and getattr(torch.version, "hip", None) is None
    _engine = torch.autograd.Variable._execution_engine
    record.collectives(backend in ("gloo", "mpi") or (no_gpu and ("gloo" in backend or backend == "undefined")))


@_guard
def _pass_begins(tensors, *args, **kwargs):
    """The first gradient of the pass has the engine tell us when the last one is there."""
    if _engine is None:
        return None
    first = tensors if hasattr(tensors, "register_hook") else tensors[0]
    return first.register_hook(_first_gradient) if getattr(first, "requires_grad", False) else None  # an edge of the graph has none


def _first_gradient(gradient):
    _engine.queue_callback(record.arrived)


def _hook_collectives(module):
    module.init_process_group = record.timed("after", module.init_process_group, _group_made)
    _replace(module, "collective", *_COLLECTIVES)
    if module.is_initialized():  # the recording begins in a job that runs
        _group_made()


def _hook_broadcast(module):
    """Of the buffers of a DistributedDataParallel model, before each step."""
    if module.is_available():
        _replace(module, "collective", "_broadcast_coalesced")


# They return nothing when they wait, and a handle when they do not.
_COLLECTIVES = (
    "all_reduce",
    "reduce",
    "broadcast",
    "all_gather",
    "all_gather_into_tensor",
    "all_gather_object",
    "broadcast_object_list",
    "gather",
    "gather_object",
    "scatter",
    "scatter_object_list",
    "reduce_scatter",
    "reduce_scatter_tensor",
    "all_to_all",
    "all_to_all_single",
    "barrier",
    "monitored_barrier",
)


# Module, and what of it is recorded by which hook.
_HOOKS = {
    "queue": (("handing batches over", _hook_queue), ("simple queues", _hook_simple_queue)),
    "multiprocessing.reduction": (("unpickling", _hook_unpickling), ("pickling", _hook_pickling)),
    "concurrent.futures._base": (("handing batches over", _hook_future), ("waits for the first of many", _hook_waiter)),
    "concurrent.futures.thread": (("tasks of a pool", _hook_pool_task),),
    "multiprocessing.process": (("processes that make batches", _hook_child),),
    "multiprocessing.queues": (("queues between processes", _hook_process_queues),),
    "multiprocessing.pool": (("results of a pool", _hook_process_pool),),
    "grain._src.python.dataset.stats": (("batches", _hook_grain), ("stages", _hook_grain_stages)),
    "keras.src.trainers.data_adapters.py_dataset_adapter": (("batches", _hook_keras),),
    "asyncio.base_events": (("waits for an event loop", _hook_event_loop),),
    "asyncio.queues": (("queues in an event loop", _hook_event_queue),),
    "asyncio.selector_events": (("waits in an event loop", _hook_selector),),
    "threading": (("waits for other threads", _hook_conditions),),
    "joblib.parallel": (("results of a pool", _hook_joblib),),
    "torch.autograd": (("the thread that trains", _hook_autograd),),
    "torch.optim.optimizer": (("steps of optimizers", _hook_optimizer),),
    "torch._dynamo.eval_frame": (("what torch.compile leaves alone", _hook_dynamo),),
    "torch.distributed": (("buffers of ranks", _hook_broadcast),),
    "torch.distributed.distributed_c10d": (("waits for other ranks", _hook_collectives),),
    "torch.utils.data.dataloader": (
        ("waits", _hook_iterators),
        ("places of loaders", _hook_made),
        ("later epochs", _hook_reset),
        ("beginnings of epochs", _hook_begin),
        ("batch lengths", _hook_next_index),
        ("order", _hook_get_data),
        ("batches that are ready", _hook_depth),
        ("samples", _hook_fetcher),
        ("the GPU at the end", _hook_gpu),
    ),
    "torch.autograd.profiler": (("the job's own profiler", _hook_profiler),),
    "torch.utils.data._utils.worker": (("workers", _hook_worker),),
    "torch.utils.data._utils.pin_memory": (("pinning", _hook_pin_memory),),
    "torchdata.stateful_dataloader.worker": (("workers", _hook_worker),),
    "torchdata.stateful_dataloader.stateful_dataloader": (("later epochs", _hook_stateful_reset), ("beginnings of epochs", _hook_stateful_begin)),
    "torch.serialization": (("checkpoints", _hook_save), ("restores", _hook_load)),
    "safetensors.torch": (("checkpoints and restores", _hook_safetensors),),
    "lightning.fabric.utilities.cloud_io": (("checkpoints and restores", _hook_lightning),),
    "lightning_fabric.utilities.cloud_io": (("checkpoints and restores", _hook_lightning),),
    "torch.distributed.checkpoint.state_dict_saver": (("checkpoints", _hook_sharded_save),),
    "torch.distributed.checkpoint.state_dict_loader": (("restores", _hook_sharded_load),),
    "datasets.iterable_dataset": (("restores", _hook_streams),),
    "torchvision.io.image": (("decoding", _hook_torchvision_decode), ("reading", _hook_torchvision_read)),
    **{name: (("decoding", _hook_decoding),) for name in (*_IMAGE_CODECS, *_CODECS)},
    **{name: (("batches", _hook_iterator_of),) for name in _ITERATORS},
}


_hooked = set()


def _put_in(module, name):
    """Each hook by itself; those that do not fit are named, with what the first of them found."""
    _hooked.add(name)
    missing, why = [], None
    for what, hook in _HOOKS[name]:
        try:
            hook(module)
        except Exception as e:
            if _is_a_handlers(e):
                raise
            missing.append(what)
            why = why or "%s: %s" % (type(e).__name__, str(e)[:80])
    if missing:
        record.note("%s is not recorded (%s): %s" % (name, ", ".join(missing), why))


# ---- when a module is imported ----


class _Finder:
    """Finds nothing itself: lets the others find the module, and puts the hooks behind its execution."""

    def __init__(self):
        self.busy = set()

    def find_spec(self, name, path=None, target=None):
        if name not in _HOOKS or name in self.busy:
            return None
        self.busy.add(name)
        try:
            finders = list(sys.meta_path)
            for finder in finders[finders.index(self) + 1 :]:  # those before have been asked
                find = getattr(finder, "find_spec", None)
                spec = None if find is None else find(name, path, target)
                if spec is not None:
                    _put_behind(spec.loader, name)
                    return spec
        finally:
            self.busy.discard(name)
        return None


def _put_behind(loader, name):
    try:
        if isinstance(loader, type):  # one for all its modules
            raise TypeError("its loader is a class")
        execute = loader.exec_module
        if record.is_timed(execute):  # looked for before, and not imported; or another module's of a zip
            return
        own = loader.__dict__.get("exec_module")  # another hook's

        def begins(module):
            if own is not None:
                loader.exec_module = own
            else:
                loader.__dict__.pop("exec_module", None)  # the class's own again

        def ends(module):
            if module.__name__ == name:
                _put_in(module, name)

        loader.exec_module = record.timed("before", record.timed("after", execute, ends), begins)
    except Exception as e:
        record.note("%s is not recorded: %s: %s" % (name, type(e).__name__, str(e)[:80]))


def _dead_worker(text, step):
    """Of the iterator that the exception came through: the first worker that ended otherwise than by the job's end. torch's handler of SIGCHLD raises in
    whatever line runs, and says which process it was."""
    import re
    import signal

    said = re.search(r"worker \(pid (\d+)\) (?:exited unexpectedly with exit code (\d+)|is killed by signal: (\w[\w ]*))", text)
    number = _worker_pids.get(int(said[1])) if said else None
    code = said and (said[2] or next((int(n) for n in signal.valid_signals() if signal.strsignal(n) == said[3]), None))
    if number is not None and code is not None:
        return "worker %d ended %s %s" % (number, "with exit status" if said[2] else "by signal", code)
    while step is not None:
        for n, worker in enumerate(getattr(step.tb_frame.f_locals.get("self"), "_workers", None) or ()):
            code = worker.exitcode
            if code and code != -15:
                return "worker %d ended %s %d" % (n, "by signal" if code < 0 else "with exit status", abs(code))
        step = step.tb_next
    return ""


# Loaders that are not torch's DataLoader, by the module that has them (tui/cli/exec/exec_words.c knows what to say of each).
_OTHER_LOADERS = ("grain", "nvidia.dali", "ray.data", "spdl.pipeline", "torchdata.nodes", "ffcv", "tensorflow")
_gives = ""  # of them or of others, the one that gave batches, where importing it does not say so


def _seen():
    return _gives or next((name for name in _OTHER_LOADERS if name in sys.modules), "")


def _ascii(text):
    """A byte each: the fields are of bytes."""
    return text.encode("ascii", "backslashreplace").decode()


def _brief(line, most):
    """With its end, where the name of a file is."""
    return line if len(line) <= most else line[: most - 45] + "..." + line[-42:]


def _say_how_it_ended():
    """The interpreter keeps the exception that nothing has caught, and has printed it. One of a worker names the worker in its
    first line and has the worker's own in its last one."""
    error = getattr(sys, "last_value", None)
    if not record.session():
        return
    try:
        record.seen(_seen(), (_extra("what a report mixes", _mixed) or "")[:250])
        if error is None:
            return
        lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [""]
        last = _brief(lines[-1], 130) if lines[1:] else ""
        text = " || ".join(("%s: %s" % (type(error).__name__, _brief(lines[0], 70 if last else 180)), last, _dead_worker(lines[0], error.__traceback__)))
        record.ended(_ascii(text))
    except Exception:  # its text is the job's own code, and what is raised here Python would print
        pass


def install(extension):
    global record
    if record is None:
        import atexit

        record = pipeprobe_origin.record = extension
        pipeprobe_origin._guard = _guard
        atexit.register(_say_how_it_ended)
        record.handlers(_is_a_handlers)
        record.names(_sample_name)
        sys.meta_path.insert(0, _Finder())


def hook_imported():
    """For a process whose recording begins after its imports."""
    global _hooking_late
    _hooking_late = True
    _tasks.clear()
    for name in _HOOKS:
        module = sys.modules.get(name)
        if module is not None and name not in _hooked:
            _put_in(module, name)
    _hooking_late = False
