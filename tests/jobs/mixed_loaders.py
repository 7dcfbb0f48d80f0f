"""A job whose loaders a report mixes: mixed_loaders.py between|beside|handed|pool|pools|callable|threads|unfit

between: a queue of its own to train from, a DataLoader to validate; beside: both in each step; handed: a thread per epoch takes the DataLoader's;
pool: its threads write logs too; pools: another pool does; callable: by an object without a name;
threads: three threads train; unfit: it imports a Grain of another shape."""
import concurrent.futures
import queue
import sys
import threading
import time

import torch
from torch.utils.data import DataLoader, TensorDataset

kind = sys.argv[1]
data = TensorDataset(torch.zeros(160, 16))


def sample(n):
    time.sleep(0.001)
    return torch.zeros(16)


def write_log(n):
    time.sleep(0.002)


def fill(q, n):
    for _ in range(n):
        q.put(torch.stack([sample(i) for i in range(4)]))


def own(n):
    q = queue.Queue(4)
    threading.Thread(target=fill, args=(q, n), daemon=True).start()
    for _ in range(n):
        yield q.get()


def train(batches):
    net = torch.nn.Linear(16, 1)
    for x in batches:
        net(x).square().mean().backward()
        time.sleep(0.002)


class Prüfer:
    def __call__(self, n):
        write_log(n)


def handed(epochs):
    def prefetch(q):
        for (x,) in DataLoader(data, 4):
            q.put(x)
        q.put(None)

    for _ in range(epochs):
        q = queue.Queue(4)
        thread = threading.Thread(target=prefetch, args=(q,))
        thread.start()
        yield from iter(q.get, None)
        thread.join()


def pooled(n, log=write_log, pools=1):
    with concurrent.futures.ThreadPoolExecutor(2) as pool, concurrent.futures.ThreadPoolExecutor(2) as other:
        for i in range(n):
            yield torch.stack(list(pool.map(sample, range(4))))
            (pool if pools == 1 else other).submit(log, i)


if __name__ == "__main__":
    torch.set_num_threads(1)
    if kind == "between":
        for _ in range(2):
            train(own(30))
            print(sum(len(x) for (x,) in DataLoader(data, 8)))
    elif kind == "beside":
        second = own(40)
        train(torch.cat([x, next(second)]) for (x,) in DataLoader(data, 4))
    elif kind == "handed":
        train(handed(3))
    elif kind == "pool":
        train(pooled(40))
    elif kind == "pools":
        train(pooled(40, pools=2))
    elif kind == "callable":
        train(pooled(40, Prüfer()))
    elif kind == "threads":
        trainers = [threading.Thread(target=train, args=(own(n),)) for n in (20, 80, 30)]
        [t.start() for t in trainers]
        [t.join() for t in trainers]
    else:
        import grain._src.python.dataset.stats

        train(own(40))
    print("done")
