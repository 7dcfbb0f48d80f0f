"""num_workers and prefetch_factor of a DataLoader's iterator that is being iterated, changed between two batches.

torch numbers the tasks of an iterator and gives batches by these numbers, whichever worker made them. So their order and
contents stay as they would be, for data sets whose samples do not depend on their worker. Nothing here draws a random
number: a new worker gets the iterator's base seed and its own number, as torch's do. Samplers are asked earlier than
before, and therefore have to be torch's own.

The workers of an iterator are one range, 0 to len(_workers) - 1. Tasks go to the first _num_workers of them; those behind
finish what they have, and are then kept for a later change or ended. A worker that has tasks stays in _workers_status as
one that is there: torch drops the tasks of others.

All of it runs in the thread that takes the batches."""

import itertools
import sys

# What is read or set here, by the function of torch's whose code has to name it.
_NEEDED = {
    "__init__": ("_num_workers", "_prefetch_factor", "_worker_result_queue", "_workers_done_event", "_worker_init_fn", "_index_queues", "_workers"),
    "_reset": ("_send_idx", "_rcvd_idx", "_task_info", "_tasks_outstanding", "_workers_status", "_worker_queue_idx_cycle"),
    "_try_put_index": ("_next_index", "_index_queues", "_task_info", "_workers_status", "_worker_queue_idx_cycle"),
}
# An argument of a worker's loop, and what of the iterator it is; index_queue and worker_id are the worker's own.
_ARGUMENTS = {
    "dataset_kind": lambda it: it._dataset_kind,
    "dataset": lambda it: it._dataset,
    "dataset_holder": lambda it: [it._dataset],  # since 2.13: emptied by the worker
    "data_queue": lambda it: it._worker_result_queue,
    "done_event": lambda it: it._workers_done_event,
    "auto_collation": lambda it: it._auto_collation,
    "collate_fn": lambda it: it._collate_fn,
    "drop_last": lambda it: it._drop_last,
    "base_seed": lambda it: it._base_seed,
    "init_fn": lambda it: it._worker_init_fn,
    "num_workers": lambda it: it._num_workers + 1,
    "persistent_workers": lambda it: it._persistent_workers,
    "shared_seed": lambda it: it._shared_seed,
}

torch_data = None  # torch.utils.data.dataloader, once it is hooked


class _State:
    """Of an iterator that was changed."""

    def __init__(self, workers):
        self.workers = workers  # as many are wanted
        self.keeps = False  # those that are not wanted stay, without tasks
        self.mark = 0  # number of the first task that was given out under what is wanted
        self.trouble = None  # why a worker could not be started


class _End:
    """Ends the worker that takes it out of its queue as Ctrl-C would: its loop takes that for its quiet end. A None, as torch sends it at the
    end, would be an error before. A signal might hit a worker that holds the lock of the queue of batches."""

    def __reduce__(self):
        return exec, ("raise KeyboardInterrupt",)


def _code(function):
    return getattr(function, "__wrapped__", function).__code__


def _loop():
    return torch_data._utils.worker._worker_loop


def _loop_arguments():
    code = _code(_loop())
    return code.co_varnames[: code.co_argcount]


def check(module):
    """An exception says what this version of torch has not."""
    iterators = module._MultiProcessingDataLoaderIter
    for function, names in _NEEDED.items():
        known = _code(vars(iterators)[function]).co_names
        missing = [name for name in names if name not in known]
        if missing:
            raise AttributeError("no %s in %s" % (missing[0], function))
    code = _code(module._utils.worker._worker_loop)
    arguments = code.co_varnames[: code.co_argcount]
    unknown = [name for name in arguments if name not in _ARGUMENTS and name not in ("index_queue", "worker_id")]
    if unknown or "index_queue" not in arguments or "worker_id" not in arguments:
        raise AttributeError("other arguments of a worker's loop: %s" % ", ".join(unknown or arguments))
    for name in ("_set_worker_pids", "_remove_worker_pids"):
        getattr(module._utils.signal_handling, name)


# ---- workers ----


def _say_pids(it):
    """torch's handler of SIGCHLD ends the job when one of these ends otherwise than well. It takes a set once."""
    signals = torch_data._utils.signal_handling
    signals._remove_worker_pids(id(it))
    signals._set_worker_pids(id(it), tuple(worker.pid for worker in it._workers))


def _start(it):
    import multiprocessing

    number, first = len(it._workers), it._workers[0]
    queue = multiprocessing.get_context(getattr(first, "_start_method", None)).Queue()
    queue.cancel_join_thread()
    own = {"index_queue": queue, "worker_id": number}
    arguments = tuple(own[name] if name in own else _ARGUMENTS[name](it) for name in _loop_arguments())
    worker = type(first)(target=_loop(), args=arguments)
    worker.daemon = True
    worker._pipeprobe_round = getattr(it, "_pipeprobe_round", 0)  # of persistent workers: which of its epochs it is
    worker.start()
    it._index_queues.append(queue)
    it._workers.append(worker)
    it._workers_status.append(True)
    if hasattr(it, "_workers_num_tasks"):
        it._workers_num_tasks.append(0)
    _say_pids(it)


def _end_idle(it):
    """All together, once none of those that are not wanted has a task, or a batch that was not given yet."""
    if any(info[0] >= it._num_workers for info in it._task_info.values()):
        return
    gone = list(zip(it._workers, it._index_queues))[it._num_workers :]
    for name in ("_workers", "_index_queues", "_workers_status", "_workers_num_tasks"):
        if hasattr(it, name):
            del getattr(it, name)[it._num_workers :]
    _say_pids(it)
    for worker, queue in gone:
        queue.put(_End())
        queue.close()  # multiprocessing waits for the process when another one starts, or at the end
        worker._pipeprobe_queue = queue  # as long: one that was spawned may not have opened its semaphores yet


def _give_tasks_to(it, workers):
    it._num_workers = workers
    it._worker_queue_idx_cycle = itertools.cycle(range(workers))
    _top_up(it)


def _top_up(it):
    state = it._pipeprobe_live
    state.mark = it._send_idx
    before = -1
    while it._send_idx != before:
        before = it._send_idx
        it._try_put_index()


def _has_room(it):
    """torch takes the next index before it looks for a worker that may have more, and loses it where none may."""
    most = it._prefetch_factor * it._num_workers
    if it._tasks_outstanding >= most:
        return False
    if getattr(it, "_in_order", True) or not hasattr(it, "_workers_num_tasks"):  # torch 2.6 has the one without the other
        return True
    room = most // max(1, sum(it._workers_status[: it._num_workers]))
    return any(it._workers_status[w] and it._workers_num_tasks[w] < room for w in range(it._num_workers))


# ---- changes ----


def change(it, workers=None, prefetch=None, keeps=False):
    """From now on as many workers and batches per worker; None: as many as there are. Workers are added one per batch (approach): the
    training thread stands still while one is forked. keeps: those that are too many wait for another change."""
    state = it.__dict__.setdefault("_pipeprobe_live", None) or _State(it._num_workers)
    it._pipeprobe_live = state
    state.keeps, state.trouble = keeps, None
    if prefetch:
        it._prefetch_factor = prefetch
    if workers and it._dataset_kind == torch_data._DatasetKind.Map:
        state.workers = workers
    _top_up(it)
    approach(it)


def approach(it):
    """Before each batch of an iterator that was changed, one step towards what is wanted. Whether it is there."""
    state = it._pipeprobe_live
    if state.workers > it._num_workers:
        if len(it._workers) == it._num_workers:
            try:
                _start(it)
            except Exception as e:  # no memory, no process, or it cannot be pickled
                state.workers, state.trouble = it._num_workers, "%s: %s" % (type(e).__name__, str(e)[:80])
                return False
        _give_tasks_to(it, min(state.workers, len(it._workers)))
    elif state.workers < it._num_workers:
        _give_tasks_to(it, state.workers)
    elif len(it._workers) > it._num_workers and not state.keeps:
        _end_idle(it)
    return state.workers == it._num_workers


def hook(module, before, after):
    """before(iterator) and after(iterator, batch) run in the thread that takes the batches, around each of them. Plain functions: what is called once
    a batch may cost a microsecond."""
    global torch_data
    check(module)
    torch_data = module
    iterators, base = module._MultiProcessingDataLoaderIter, module._BaseDataLoaderIter
    put, reset = vars(iterators)["_try_put_index"], vars(iterators)["_reset"]

    def _try_put_index(self):
        if "_pipeprobe_live" not in self.__dict__:
            put.__get__(self)()
        elif _has_room(self):
            status = self._workers_status
            self._workers_status = status[: self._num_workers]  # it shares the tasks among all of these: those that are kept idle get none
            try:
                put.__get__(self)()
            finally:
                self._workers_status = status

    def _reset(self, loader, first_iter=False, *args, **kwargs):
        """A persistent iterator begins its next epoch with all workers that there are: what those that are not wanted still give belongs to
        the epoch that is over, and is thrown away with the rest of it."""
        wanted = self._num_workers
        changed = "_pipeprobe_live" in self.__dict__ and not first_iter
        if changed:
            self._num_workers = len(self._workers)
        reset.__get__(self)(loader, first_iter, *args, **kwargs)
        if changed:
            _give_tasks_to(self, wanted)

    def __next__(self):
        before(self)
        batch = base.__next__(self)
        after(self, batch)
        return batch

    for function, theirs in ((_try_put_index, put), (_reset, reset), (__next__, base.__next__)):
        function.__wrapped__ = getattr(theirs, "__wrapped__", theirs)
        for name in ("__module__", "__qualname__", "__doc__"):
            setattr(function, name, getattr(theirs, name))
        setattr(iterators, function.__name__, function)
