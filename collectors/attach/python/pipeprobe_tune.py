"""`pipeprobe exec --tune`: tries in the running job what a replay of its recording expects to gain, and keeps what does.

exec replays, and puts the candidates into the session (FILE_ASKED). Here they are tried, in the thread that takes the batches: it knows when each
batch came and which setting it was made under, and goes on when exec is gone. As it is (A) and changed (B) take turns of a second or more; the
logarithms of their rates are compared. What came of it goes into FILE_TOLD, a line each, which exec stores and says (tui/cli/exec/exec_tune.h).

Only where PIPEPROBE_LIVE is set: "keep", or "advise", which puts everything back."""

import math
import os
import sys
import time
import weakref

import pipeprobe_live
import pipeprobe_override

FILE_ASKED, FILE_TOLD = "answer-tune", "answer-tuned"
_LOOK_S = 0.5  # between looks at what is asked
_BLOCK_S, _BLOCK_MAX_S, _BLOCK_BATCHES = 1.0, 3.0, 4
_PAIRS = 3  # of blocks, at most: B, A, B, A, B after the first A
_B_MAX_S = 10.0  # that B may have had without a decision
_TRIAL_MAX_S = 60.0  # blocks that are thrown away: epochs end in them, other loaders are iterated
_LEAST = 0.03  # gain that is worth a change
_WORSE = 0.85  # of A's rate: B is given up after its first block
_T = {1: 6.31, 2: 2.92, 3: 2.35, 4: 2.13}  # Student's t, 90 % of both sides, by degrees of freedom
_LOOKS = 1.3  # wider, for it is looked at more than once
_SPREAD = 0.02  # of a block's rate, at least


class _Tuner:
    """One of the process."""

    hooks, record, session, advise = None, None, "", False
    look_at, seen = 0.0, None  # when the session is looked at again; what it was then
    row, asked = -1, []  # number of the loader that is tuned; candidates: (workers, prefetch, predicted gain)
    settings = {}  # by loaders' numbers, what was kept: iterators that are made later get it
    kept = []  # the same, for what gives the indices: (weak reference to it, setting). It outlives the recording
    taken = {}  # by loaders' numbers: batches so far
    trial = None
    notes = set()
    on = True
    leaves = False  # nothing is tried any more, and an open trial ends at its next batch


def _tell(kind, loader, *fields):
    line = "\t".join([kind, str(time.monotonic_ns()), "%d.%d" % (os.getpid(), loader)] + [str(f).replace("\t", " ").replace("\n", " ")[:150] for f in fields]) + "\n"
    try:
        fd = os.open(os.path.join(_Tuner.session, FILE_TOLD), os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            os.write(fd, line.encode("utf-8", "replace"))
        finally:
            os.close(fd)
    except OSError:  # exec is gone, and the session with it
        pass


def _left(loader, why):
    """Once for each reason."""
    if why not in _Tuner.notes and len(_Tuner.notes) < 8:
        _Tuner.notes.add(why)
        _tell("left", loader, why)


# ---- which loaders ----


def _why_not(it):
    """What keeps its number of workers as it is; None: nothing."""
    if it._dataset_kind != pipeprobe_live.torch_data._DatasetKind.Map:
        return "its stream is divided by the number of workers"
    samplers = (it._index_sampler, getattr(it._index_sampler, "sampler", None))
    if any(s is not None and not _Tuner.hooks._is_torchs(s) for s in samplers):
        return "its sampler is the job's own, and would be asked earlier"
    inner = _Tuner.hooks._inner(it._dataset)
    if any(pipeprobe_override._is_sharded(d, it._worker_init_fn) for d in (it._dataset, inner)):
        return "its samples may depend on their worker (get_worker_info)"
    return None


def _iterator_made(iterator, loader, *args, **kwargs):
    iterator._pipeprobe_row = row = _Tuner.hooks.row_of(loader)
    if type(iterator) is not pipeprobe_live.torch_data._MultiProcessingDataLoaderIter:
        _left(row, "num_workers=0: there is no worker to add one to" if not loader.num_workers else "its iterator is a class of its own")
    else:
        kept = _Tuner.settings.get(row) or next((setting for of, setting in _Tuner.kept if of() is iterator._index_sampler), None)
        if kept:
            pipeprobe_live.change(iterator, *kept)


def _stateful_made(*args, **kwargs):
    _left(-1, "a StatefulDataLoader keeps its number of workers in its state")


# ---- what is asked ----


def _look():
    """At the session: exec may have new candidates."""
    path = os.path.join(_Tuner.session, FILE_ASKED)
    try:
        found = os.stat(path)
        if (found.st_ino, found.st_mtime_ns) == _Tuner.seen:
            return
        _Tuner.seen = found.st_ino, found.st_mtime_ns
        with open(path) as f:
            lines = [line.split() for line in f.read(4096).split("\n")]
    except OSError:
        return
    words = {line[0]: line[1] for line in lines if len(line) == 2}
    if words.get("process") != str(os.getpid()):
        return
    _Tuner.row = int(words["loader"])
    _Tuner.asked = [(int(line[1]), int(line[2]), float(line[3])) for line in lines if line[:1] == ["try"]]


def _next_trial(it):
    workers, prefetch, gain = _Tuner.asked.pop(0)
    now = (it._num_workers, it._prefetch_factor)
    wanted = (workers or now[0], prefetch or now[1])
    why = _why_not(it) if wanted[0] != now[0] else None
    why = why or (_no_room(it, wanted) if wanted != now else "it is so already")
    if why:
        _refuse(now, wanted, why)
    else:
        _Tuner.trial = _Trial(it, now, wanted, gain)


def _refuse(now, wanted, why):
    _Tuner.trial = None
    _tell("refused", _Tuner.row, _Tuner.taken[_Tuner.row], *(wanted + now + (why,)))


# ---- room for more ----


def _number(path, name=None):
    """The file's number, or the one behind a name in it; NAN: there is none, or no limit."""
    try:
        with open(path) as f:
            for line in f:
                words = line.split()
                if words and (name is None or words[0] == name):
                    return float(words[0 if name is None else 1])
    except (OSError, ValueError, IndexError):
        pass
    return math.nan


def _bytes_of(batch, depth=0):
    if hasattr(batch, "element_size"):
        return batch.element_size() * batch.nelement()
    inner = list(batch.values()) if isinstance(batch, dict) else batch if isinstance(batch, (list, tuple)) else ()
    return sum(_bytes_of(b, depth + 1) for b in inner) if depth < 4 else 0


def _no_room(it, wanted):
    """Why so many workers and batches would not fit; None: they do, as far as that is known. NAN compares as false."""
    more = max(0, wanted[0] - len(it._workers))
    batches = max(0, wanted[0] * wanted[1] - it._num_workers * it._prefetch_factor)
    shared = batches * _Tuner.batch_bytes * 2.0
    private = max([0] + [_private_bytes(w.pid) for w in it._workers[:2]])
    group = "/sys/fs/cgroup/"
    free = [_number("/proc/meminfo", "MemAvailable:") * 1024, _number(group + "memory.max") - _number(group + "memory.current")]
    if any(more * private + shared > 0.8 * f for f in free):
        return "memory: %d workers of %.0f MB each" % (more, private / 1e6)
    shm = os.statvfs("/dev/shm")
    if shared > shm.f_bavail * shm.f_frsize:
        return "/dev/shm has no room for %d batches of %.0f MB" % (batches, _Tuner.batch_bytes / 1e6)
    if more > 0.5 * (_number(group + "pids.max") - _number(group + "pids.current")):
        return "pids.max leaves no room for %d processes" % more
    import resource

    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if files > 0 and len(os.listdir("/proc/self/fd")) + 3 * more + 2 * batches > 0.8 * files:
        return "RLIMIT_NOFILE of %d leaves no room for %d workers" % (files, more)
    return None


def _private_bytes(pid):
    path = "/proc/%d/smaps_rollup" % pid
    bytes_ = sum(_number(path, name) for name in ("Private_Clean:", "Private_Dirty:")) * 1024
    return bytes_ if bytes_ == bytes_ else 0


def _cpu_s(it):
    """Of the workers that get tasks, so far."""
    ticks = 0
    for worker in it._workers[: it._num_workers]:
        try:
            with open("/proc/%d/stat" % worker.pid) as f:
                ticks += sum(int(x) for x in f.read().rpartition(")")[2].split()[11:13])
        except (OSError, ValueError):
            pass
    return ticks / os.sysconf("SC_CLK_TCK")


# ---- a trial ----


class _Trial:
    """Blocks of A and B in turns. A block begins behind the batches that were asked for before the change, and behind one more of each worker,
    or a second: what was made in the meantime lies ready and would count for the new setting."""

    def __init__(self, it, now, wanted, gain):
        self.settings, self.is_b, self.gain = (now, wanted), False, gain
        self.rates = ([], [])
        self.began, self.b_s = time.monotonic(), 0.0
        self.open_block(it)

    def open_block(self, it):
        self.it, self.round = it, getattr(it, "_pipeprobe_round", 0)
        self.start = self.settled_at = None
        self.last = -1

    def turn(self, it):
        self.is_b = not self.is_b
        self.apply(it)
        _tell("trial" if self.is_b else "back", _Tuner.row, _Tuner.taken[_Tuner.row], *(self.settings[1] + self.settings[0]))

    def apply(self, it):
        pipeprobe_live.change(it, *self.settings[self.is_b], keeps=True)
        self.open_block(it)

    def is_behind(self, it, now):
        """Whether what comes now was made under the setting."""
        state = it.__dict__.get("_pipeprobe_live")
        if state is None:
            return True
        if state.trouble or state.workers != it._num_workers:
            return False
        if self.settled_at is None and it._rcvd_idx >= state.mark:
            self.settled_at = now
        return self.settled_at is not None and (it._rcvd_idx >= state.mark + it._num_workers or now - self.settled_at > _BLOCK_S)

    def taken(self, it, now):
        """A batch came. The verdict, once there is one: (keep, gain, low, high)."""
        state = it.__dict__.get("_pipeprobe_live")
        if state is not None and state.trouble:
            return (False, math.nan, math.nan, math.nan)
        if it is not self.it or getattr(it, "_pipeprobe_round", 0) != self.round:
            self.apply(it)  # another epoch
        if now - self.began > _TRIAL_MAX_S:
            _left(_Tuner.row, "no second of its batches goes by without another loader's, or the end of an epoch")
            _Tuner.asked = []
            return self.compare(True)
        if self.start is None:
            if self.is_behind(it, now):
                self.start, self.n, self.cpu_s = now, 0, None if self.is_b else _cpu_s(it)
            return None
        self.n += 1
        s = now - self.start
        if s < _BLOCK_S or self.n < _BLOCK_BATCHES or (self.n < 2 * it._num_workers and s < _BLOCK_MAX_S):
            return None
        self.rates[self.is_b].append(self.n / s)
        if self.is_b:
            self.b_s += s
        elif self.settings[1][0] > self.settings[0][0]:
            cpus, needed = len(os.sched_getaffinity(0)), (1 + self.gain) * (_cpu_s(it) - self.cpu_s) / s
            if needed > 1.1 * cpus:
                _refuse(*self.settings + ("its workers would need %.1f of %d CPUs" % (needed, cpus),))
                return None
        verdict = self.compare(len(self.rates[1]) == _PAIRS or self.b_s > _B_MAX_S) if self.rates[1] else None
        if verdict is None:
            self.turn(it)
        return verdict

    def compare(self, last):
        a, b = ([math.log(rate) for rate in rates] for rates in self.rates)
        if not a or not b:
            return (False, math.nan, math.nan, math.nan) if last else None
        means = [sum(x) / len(x) for x in (a, b)]
        if math.exp(means[1] - means[0]) < _WORSE:
            last = True
        free = len(a) + len(b) - 2
        if not free or (len(b) < 2 and not last):
            return (False, math.exp(means[1] - means[0]) - 1, math.nan, math.nan) if last else None
        squares = sum((x - m) ** 2 for xs, m in zip((a, b), means) for x in xs)
        error = math.sqrt(max(squares / free, _SPREAD**2) * (1 / len(a) + 1 / len(b))) * _T[free] * _LOOKS
        gain, low, high = (math.exp(means[1] - means[0] + x) - 1 for x in (0, -error, error))
        keep = low > _LEAST
        return (keep, gain, low, high) if last or keep or high < _LEAST else None


def _decide(it, verdict):
    trial, _Tuner.trial = _Tuner.trial, None
    keep, gain, low, high = verdict
    stays = trial.settings[keep and not _Tuner.advise]
    state = it.__dict__.get("_pipeprobe_live")
    trouble = state.trouble if state is not None else None
    pipeprobe_live.change(it, *stays)
    if keep and not _Tuner.advise:
        _Tuner.settings[_Tuner.row] = stays
        _Tuner.kept = [(of, s) for of, s in _Tuner.kept if of() is not None and of() is not it._index_sampler] + [(weakref.ref(it._index_sampler), stays)]
        _Tuner.asked = []  # they were predicted from how it was
        _Tuner.record.arguments(_Tuner.row, *stays)
    kind = "failed" if trouble else "undone" if not keep else "found" if _Tuner.advise else "kept"
    rates = [sum(rates) / len(rates) if rates else math.nan for rates in trial.rates]
    size = _Tuner.hooks._Loader(it).batch_size or 1
    numbers = ["%.4f" % x for x in (gain, low, high, rates[0] * size, rates[1] * size)]
    _tell(kind, _Tuner.row, _Tuner.taken[_Tuner.row], *(trial.settings[1] + trial.settings[0] + tuple(numbers) + (trouble or "",)))


# ---- around each batch ----


def _before(it):
    if "_pipeprobe_live" in it.__dict__:
        pipeprobe_live.approach(it)


def _after(it, batch):
    row = it.__dict__.get("_pipeprobe_row", -1)
    _Tuner.taken[row] = _Tuner.taken.get(row, 0) + 1
    now = time.monotonic()
    if now >= _Tuner.look_at and _Tuner.trial is None and not _Tuner.asked and not _Tuner.leaves:
        _Tuner.look_at = now + _LOOK_S
        _look()
    if _Tuner.trial is not None and row != _Tuner.row:
        _Tuner.trial.start = None  # its time is another loader's
    elif _Tuner.trial is not None:
        verdict = (False, math.nan, math.nan, math.nan) if _Tuner.leaves else _Tuner.trial.taken(it, now)
        if verdict:
            _decide(it, verdict)
    elif _Tuner.asked and row == _Tuner.row:
        _Tuner.batch_bytes = _bytes_of(batch)
        _next_trial(it)


def _guard(function):
    """A trouble of ours ends the tuning, and the job goes on as it is."""

    def guarded(*args, **kwargs):
        if not _Tuner.on:
            return
        try:
            function(*args, **kwargs)
        except Exception as e:
            if _Tuner.hooks._is_a_handlers(e):
                raise
            _Tuner.on = False
            _tell("left", -1, "%s in %s" % (type(e).__name__, function.__name__))

    return guarded


def _hook(module):
    pipeprobe_live.hook(module, _guard(_before), _guard(_after))
    for kind in ("_MultiProcessingDataLoaderIter", "_SingleProcessDataLoaderIter"):
        _Tuner.hooks._hook_method(getattr(module, kind), "__init__", "after", _guard(_iterator_made))


def _hook_stateful(module):
    _Tuner.hooks._hook_method(module.StatefulDataLoader, "__iter__", "before", _guard(_stateful_made))


def leave():
    """The recording ends, and the job goes on. Called between two bytecodes, perhaps within a step of the iterator: nothing is changed here."""
    _Tuner.leaves, _Tuner.asked, _Tuner.settings = True, [], {}


def install(hooks, record, session, mode):
    """Behind the hooks of pipeprobe_hooks.py, which record."""
    again = _Tuner.hooks is not None
    _Tuner.hooks, _Tuner.record, _Tuner.session, _Tuner.advise = hooks, record, session, mode == "advise"
    _Tuner.row, _Tuner.asked, _Tuner.trial, _Tuner.seen = -1, [], None, None
    _Tuner.settings, _Tuner.taken, _Tuner.leaves = {}, {}, False  # by numbers of this recording
    for module, hook in () if again else (
        ("torch.utils.data.dataloader", _hook),
        ("torchdata.stateful_dataloader.stateful_dataloader", _hook_stateful),
    ):
        hooks._HOOKS[module] = hooks._HOOKS.get(module, ()) + (("changes of loaders that are iterated", hook),)
        if module in hooks._hooked:  # by a recording before
            hook(sys.modules[module])
