"""A PyTorch job with a loader of its own: own_loops.py FILES FORM transform|released|sleeps|storage|bound [BATCHES [MS]]

FORM: inline, gate, pool, thread, imap, threadpool, condition, event, semaphore, mpqueue, async, asyncqueue, taskqueue,
completed, processes, joblib. A sample is a file, read and worked on for MS (4); released: without the
interpreter's lock; sleeps: not worked on, for as long; storage: on a slow mount
that is the reading; bound: the step is what takes long. Prints the losses and the time per batch, in all and in waiting."""
import asyncio, concurrent.futures, glob, hashlib, itertools, multiprocessing.pool, os, queue, sys, threading, time
import numpy as np
import torch

root, form, mode = sys.argv[1:4]
batches = int(sys.argv[4]) if len(sys.argv) > 4 else 100
work_ns = int(float(sys.argv[5]) * 1e6) if len(sys.argv) > 5 else 4000000
files = sorted(glob.glob(root + "/*"))
SIZE, BLOCK, WORKERS = 8, bytes(1 << 20), int(os.environ.get("WORKERS", 2))


def load(path):
    with open(path, "rb") as f:
        data = np.frombuffer(f.read(), np.uint8)[:4096].astype(np.float32) / 255
    if mode == "transform":
        until, table = time.thread_time_ns() + work_ns, {}
        while time.thread_time_ns() < until:  # words of a text, in Python
            for i in range(200):
                table[i % 31] = table.get(i % 31, 0) + i
    elif mode == "released":
        until = time.thread_time_ns() + work_ns
        while time.thread_time_ns() < until:
            hashlib.sha256(BLOCK)
    elif mode == "sleeps":
        time.sleep(work_ns / 1e9)
    return data


def load_batch(paths):
    return [load(p) for p in paths]


def stack(items):
    return torch.from_numpy(np.stack(items))


def paths():
    for n in range(batches):
        yield [files[(n * SIZE + i) % len(files)] for i in range(SIZE)]


def producer(q):
    for p in paths():
        q.put(load_batch(p))
    q.put(None)


def worker(tasks, q):
    while (p := tasks.get()) is not None:
        q.put(load_batch(p))
    q.put(None)


def taken(q):
    while (b := q.get()) is not None:
        yield stack(b)


def inline():
    for p in paths():
        yield stack(load_batch(p))


def gate():
    """The same, which may be paused."""
    running = threading.Event()
    running.set()
    for batch in inline():
        running.wait()
        yield batch


def pool():
    with concurrent.futures.ThreadPoolExecutor(WORKERS) as ex:
        ahead = None
        for p in paths():
            new = [ex.submit(load, f) for f in p]
            if ahead:
                yield stack([f.result() for f in ahead])
            ahead = new
        yield stack([f.result() for f in ahead])


def joblib():
    import joblib

    for b in joblib.Parallel(n_jobs=WORKERS, backend="threading", return_as="generator")(joblib.delayed(load_batch)(p) for p in paths()):
        yield stack(b)


def completed():
    with concurrent.futures.ThreadPoolExecutor(WORKERS) as ex:
        for p in paths():
            yield stack([f.result() for f in concurrent.futures.as_completed([ex.submit(load, f) for f in p])])


def processes():
    with concurrent.futures.ProcessPoolExecutor(WORKERS) as ex:
        for b in ex.map(load_batch, paths()):
            yield stack(b)


def thread():
    q = queue.Queue(4)
    threading.Thread(target=producer, args=(q,), daemon=True).start()
    yield from taken(q)


def taskqueue():
    tasks, q = queue.Queue(), queue.Queue(4)
    for p in paths():
        tasks.put(p)
    tasks.put(None)
    threading.Thread(target=worker, args=(tasks, q), daemon=True).start()
    yield from taken(q)


def mpqueue():
    q = multiprocessing.Queue(4)
    p = multiprocessing.Process(target=producer, args=(q,), daemon=True)
    p.start()
    yield from taken(q)
    p.join()


def imap():
    with multiprocessing.Pool(WORKERS) as p:
        for b in p.imap(load_batch, paths()):
            yield stack(b)


def threadpool():
    with multiprocessing.pool.ThreadPool(WORKERS) as p:
        for paths_ in paths():
            yield stack(p.map(load, paths_))


def condition():
    ready, changed = [], threading.Condition()

    def fill():
        for b in itertools.chain(map(load_batch, paths()), [None]):
            with changed:
                changed.wait_for(lambda: len(ready) < 4)
                ready.append(b)
                changed.notify_all()

    threading.Thread(target=fill, daemon=True).start()
    while True:
        with changed:
            changed.wait_for(lambda: ready)
            b = ready.pop(0)
            changed.notify_all()
        if b is None:
            return
        yield stack(b)


def semaphore():
    q, room = queue.SimpleQueue(), threading.Semaphore(2)

    def fill():
        for p in paths():
            room.acquire()
            q.put(load_batch(p))
        q.put(None)

    threading.Thread(target=fill, daemon=True).start()
    for b in taken(q):
        room.release()
        yield b


def event():
    ready, full, taken = [], threading.Event(), threading.Event()

    def fill():
        while not full._cond._waiters:  # the first batch is waited for, however long steps are
            time.sleep(0.01)
        for b in itertools.chain(map(load_batch, paths()), [None]):
            while len(ready) >= 4:
                taken.wait(0.5)
                taken.clear()
            ready.append(b)
            full.set()

    threading.Thread(target=fill, daemon=True).start()
    while True:
        full.wait()
        b = ready.pop(0)
        if not ready:
            full.clear()
            if ready:
                full.set()
        taken.set()
        if b is None:
            return
        yield stack(b)


def async_():
    async def one(p):
        return await asyncio.gather(*(asyncio.to_thread(load, f) for f in p))

    for p in paths():
        yield stack(asyncio.run(one(p)))


if __name__ == "__main__":
    torch.manual_seed(0)
    torch.set_num_threads(1)
    net = torch.nn.Sequential(torch.nn.Linear(4096, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1))
    opt = torch.optim.SGD(net.parameters(), 0.01)
    begun, waited, losses, n = time.time(), 0.0, 0.0, 0

    def train(x):
        global losses, n
        loss = net(x).square().mean()
        if "INFER" not in os.environ:
            opt.zero_grad()
            loss.backward()
            opt.step()
        losses += loss.item()
        n += 1
        time.sleep(0.15 if mode == "bound" else 0.003)  # the device

    async def asyncqueue():  # the whole training in an event loop
        global waited
        q, rest = asyncio.Queue(4), paths()

        async def produce():
            for p in rest:
                await q.put(await asyncio.to_thread(load_batch, p))

        producers = [asyncio.create_task(produce()) for _ in range(2)]
        while n < batches:
            asked = time.time()
            b = await q.get()
            waited += time.time() - asked
            train(stack(b))
        await asyncio.gather(*producers)

    if form == "asyncqueue":
        asyncio.run(asyncqueue())
    else:
        source = async_() if form == "async" else globals()[form]()
        while True:
            asked = time.time()
            x = next(source, None)
            waited += time.time() - asked
            if x is None:
                break
            train(x)
    took = time.time() - begun
    print("%d batches, losses %.6f" % (n, losses))
    print("%.1f batches/s, waited %.1f %%" % (n / took, 100 * waited / took), file=sys.stderr)
