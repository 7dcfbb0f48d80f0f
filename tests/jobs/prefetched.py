"""A training script whose DataLoader is read by a thread of its own, as MONAI's ThreadDataLoader and background generators do: the training
thread gets its batches from a queue. It knows nothing of pipeprobe. Prints what must not change when it is recorded, and on the last line how
long the training thread waited for each batch by its own clock, in us.

prefetched.py [--epochs N] [--workers N] [--sample-ms MS] [--step-ms MS] [--poll] [--pool] [--train-in-thread] [--inference]"""

import argparse
import queue
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import torch
from torch.utils.data import DataLoader, Dataset


class Slow(Dataset):
    def __init__(self, ms):
        self.ms = ms

    def __len__(self):
        return 48

    def __getitem__(self, i):
        time.sleep(self.ms / 1000)
        return torch.full((8,), float(i))


def prefetched(loader, poll):
    """The batches of the loader, taken by another thread up to two ahead."""
    ready, end = queue.Queue(2), object()

    def fill():
        for batch in loader:
            while poll:
                try:
                    ready.put(batch, timeout=0.01)
                    break
                except queue.Full:
                    pass
            else:
                ready.put(batch)
        ready.put(end)

    thread = threading.Thread(target=fill)
    thread.start()
    while True:
        try:
            batch = ready.get(timeout=0.01 if poll else None)
        except queue.Empty:
            continue
        if batch is end:
            break
        yield batch
    thread.join()


def pooled(loader):
    """The batches of the loader, the next one always on its way in a pool of one thread."""
    with ThreadPoolExecutor(1) as pool:
        batches = iter(loader)
        ahead = pool.submit(next, batches, None)
        while True:
            batch = ahead.result()
            if batch is None:
                return
            ahead = pool.submit(next, batches, None)
            yield batch


def train(a, waited):
    torch.manual_seed(1)
    loader = DataLoader(Slow(a.sample_ms), batch_size=4, shuffle=True, num_workers=a.workers)
    model = torch.nn.Linear(8, 1)
    sgd = torch.optim.SGD(model.parameters(), lr=1e-5)
    for epoch in range(a.epochs):
        batches = iter(loader) if a.train_in_thread else pooled(loader) if a.pool else prefetched(loader, a.poll)
        while True:
            t = time.monotonic()
            x = next(batches, None)
            if x is None:
                break
            waited.append(round(1e6 * (time.monotonic() - t)))
            loss = model(x).square().mean()
            if not a.inference:
                sgd.zero_grad()
                loss.backward()
                sgd.step()
            time.sleep(a.step_ms / 1000)
            del x
        print("epoch %d loss %.6f" % (epoch, loss.item()), flush=True)
    print("weights", model.weight.double().sum().item(), "random", torch.rand(1).item())


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=2)
    p.add_argument("--workers", type=int, default=2)
    p.add_argument("--sample-ms", type=float, default=5)
    p.add_argument("--step-ms", type=float, default=5)
    p.add_argument("--poll", action="store_true")
    p.add_argument("--pool", action="store_true")
    p.add_argument("--train-in-thread", action="store_true")
    p.add_argument("--inference", action="store_true")
    a = p.parse_args()
    torch.set_num_threads(1)
    waited = []
    if a.train_in_thread:
        thread = threading.Thread(target=train, args=(a, waited))
        thread.start()
        thread.join()
    else:
        train(a, waited)
    print("waited", *waited, flush=True)


if __name__ == "__main__":
    main()
