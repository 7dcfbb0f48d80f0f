"""Calls the extension that records Python jobs (_pipeprobe) as no hook does: odd arguments, stand-ins of stand-ins, objects whose methods raise, copies
and pickles of them, while the files in the session directory are overwritten. odd_calls.py HOOKS SEED: exits with 7 when all calls have come back."""

import copy, gc, glob, os, pickle, random, sys, threading, types, weakref

sys.path.insert(0, sys.argv[1])
import _pipeprobe as record

random.seed(int(sys.argv[2]))
session = os.environ["PIPEPROBE_SESSION"]


class Odd:
    """Raises, answers with what is not asked for, or changes under the caller's hands."""

    def __getattr__(self, name):
        if name.startswith("__") or random.random() < 0.5:
            raise AttributeError(name)
        return Odd()

    def __len__(self):
        return random.choice([-1, 0, 3, 2**62])

    def __getitem__(self, key):
        if random.random() < 0.3:
            raise random.choice([IndexError, StopIteration, KeyError, MemoryError])("odd")
        return self

    def __iter__(self):
        return self

    def __next__(self):
        if random.random() < 0.3:
            raise StopIteration
        return self

    def __call__(self, *args, **kwargs):
        if random.random() < 0.3:
            raise random.choice([ValueError, StopIteration, RecursionError])("odd")
        for a in args:
            if hasattr(a, "__dict__"):
                a.__dict__.pop("_pipeprobe_iteration", None)
                gc.collect()
        return self

    def get(self, *args, **kwargs):
        return random.choice([None, (), (1,), (0, [1, 2]), (-1, None), (2**70, Odd()), ("x", 5), Odd()])

    def put(self, *args, **kwargs):
        return self()


class Iterator:
    pass


NUMBERS = [0, 1, -1, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**63, 2**64 - 1, 2**64, -(2**63), 10**30, True, 1.5, float("nan")]
TEXTS = ["", "a", "a" * 100000, "a\0b", "\ud800", "\u202e\x1b]0;x\x07", "%s%n", b"bytes", None]
WITH_CALLBACK = ["next", "before", "after", "result", "backward"]
KINDS = WITH_CALLBACK + ["decode", "read", "collate", "save", "index", "received", "put", "get", "collective", "resolve", "loads"]
OBJECTS = [None, Odd, Odd(), [], {}, (1, 2), object(), len, iter([1, 2]), lambda *a: None, session]
made = []


def argument():
    return random.choice(random.choice([NUMBERS, TEXTS, OBJECTS, made or NUMBERS]))


def attempt(function, *args, **kwargs):
    try:
        return function(*args, **kwargs)
    except (Exception, RecursionError):
        return None


def use(thing):
    iterator = Iterator()
    iterator._pipeprobe_iteration = argument()
    for function in (len, iter, next, repr, hash, copy.copy, copy.deepcopy, pickle.dumps, weakref.ref, type(thing), dir, vars):
        attempt(function, thing)
    attempt(lambda: type(thing)())
    attempt(lambda: type(thing).__new__(type(thing)))
    attempt(lambda: thing[argument()])
    attempt(lambda: thing(*[argument() for _ in range(random.randrange(4))]))
    attempt(lambda: thing(iterator))
    attempt(lambda: thing.get(argument()))
    attempt(lambda: thing.put(argument()))
    attempt(setattr, thing, "x", argument())
    attempt(lambda: type("T", (), {"f": thing})().f(argument()))
    attempt(lambda: thing.__get__(argument(), argument()))
    attempt(lambda: setattr(iterator, "_pipeprobe_iteration", record.iteration(1, 2, 3, 4, 5, 6, 7, argument())))
    for kind in KINDS:
        callback = [argument()] if kind in WITH_CALLBACK else []
        attempt(lambda: record.timed(kind, Odd(), *callback)(iterator))


class Tensor(Odd):
    pass


sys.modules["torch"] = types.ModuleType("torch")
sys.modules["torch"].Tensor = random.choice([Tensor, Tensor, None, 5])


def batch(*args):
    """Containers within containers, and within themselves."""
    if random.random() < 0.2:
        raise random.choice([OSError, EOFError, StopIteration])("odd")
    within = [Tensor(), [Tensor()] * 3, Odd(), None]
    within.append(random.choice([within, tuple(within), {"a": within, 1: [within] * 50}, [[]] * 20000, Tensor]))
    return random.choice([tuple(within), within, {"x": within}, Tensor()])


def take_a_batch():
    """What comes from a worker, within the wait for it."""
    iterator = Iterator()
    iterator._pipeprobe_iteration = record.iteration(0, 1, 0, 5, 8, 5, 40, 1)
    loads = record.timed("loads", batch)
    loads(b"")
    record.timed("next", lambda i: [attempt(loads, b"") for _ in range(3)], lambda i: None)(iterator)


def calls(n):
    names = [f for f in dir(record) if not f.startswith("_") and f not in ("join", "off")]
    for _ in range(n):
        function = getattr(record, random.choice(names))
        count = random.choice([0, 1, 1, 2, 3, 7, 13])
        out = attempt(function, *[argument() for _ in range(count)])
        if function is record.timed:
            out = attempt(function, random.choice(KINDS), argument(), *[argument() for _ in range(random.randrange(2))])
        if out is None:
            out = attempt(function, Odd())
        if out is not None:
            made.append(out)
            use(out)
        if len(made) > 50:
            del made[random.randrange(len(made))]
        attempt(record.iteration, 0, 1, 0, random.getrandbits(64), 8, random.choice([0, 5]), 40, random.choice([0, 1]))
        attempt(record.loader, 2, 8, 2, 0, 1, 0, 1, 0, 100, 10, "fork", "d" * random.randrange(200), "s")
        attempt(record.worker_begin, random.choice([-5, 0, 1, 2**31 - 1]), random.choice([0, os.getpid(), -1, 2**62]), 5)
        attempt(record.note, "n" * random.randrange(400))
        attempt(record.worker_end)
        attempt(take_a_batch)


def overwrite():
    """As any process of the job could."""
    for path in glob.glob(session + "/process-*") + glob.glob(session + "/loaders-*"):
        with open(path, "r+b") as f:
            size = os.fstat(f.fileno()).st_size
            f.seek(random.randrange(8, max(size, 9)))
            f.write(os.urandom(64))
            if random.random() < 0.2:
                f.truncate(random.choice([0, 10, size]))


attempt(record.join, session)
for part in range(15):
    calls(20)
    overwrite()
threads = [threading.Thread(target=calls, args=(50,)) for _ in range(3)]
for t in threads:
    t.start()
for t in threads:
    t.join()
pid = os.fork()
if pid == 0:
    calls(50)
    os._exit(0)
status = os.waitpid(pid, 0)[1]
os.mkfifo(session + "/process-1")
os.mkfifo(session + "/loaders-1")
os.symlink("/dev/zero", session + "/process-2")
record.off("the end")
calls(20)
os._exit(7 if status == 0 else 8)
