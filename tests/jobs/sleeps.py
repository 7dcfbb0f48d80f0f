"""A training script whose samples take time and no CPU: what a change of its DataLoader gains depends on the change alone. It knows nothing of
pipeprobe. Prints the workers that it has and the epochs it finished.

sleeps.py [--workers N] [--sample-ms MS] [--step-ms MS] [--epochs N] [--samples N] [--batch N] [--prefetch N] [--long-ms MS] [--tensors N] [--join]
          [--stream sharded|plain] [--validate] [--pause-ms MS] [--evaluate-every N] [--evaluate-ms MS] [--again] [--persistent] [--leave-after N]
          [--ignore] [--fail-with N]"""

import argparse
import signal
import sys
import time

import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info


class Slow(Dataset):
    def __init__(self, n, ms, long_ms, tensors=1):
        self.n, self.ms, self.long_ms, self.tensors = n, ms, long_ms, tensors

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        time.sleep((self.long_ms if self.long_ms and i % 64 == 63 else self.ms) / 1000)
        return torch.tensor([i]) if self.tensors == 1 else [torch.tensor([i])] * self.tensors


def joined(samples):
    return torch.stack(torch.utils.data.default_collate(samples))


class Plain(IterableDataset):
    def __init__(self, data):
        self.data = data

    def __iter__(self):
        return (self.data[i] for i in range(len(self.data)))


class Sharded(Plain):
    def __iter__(self):
        info = get_worker_info()
        return (self.data[i] for i in range(info.id if info else 0, len(self.data), info.num_workers if info else 1))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--workers", type=int, default=1)
    p.add_argument("--sample-ms", type=float, default=5)
    p.add_argument("--long-ms", type=float, default=0)
    p.add_argument("--step-ms", type=float, default=10)
    p.add_argument("--epochs", type=int, default=1000)
    p.add_argument("--samples", type=int, default=100000)
    p.add_argument("--batch", type=int, default=4)
    p.add_argument("--prefetch", type=int, default=2)
    p.add_argument("--tensors", type=int, default=1, help="of a sample, and so of a batch")
    p.add_argument("--join", action="store_true", help="the tensors of a batch are sent as one")
    p.add_argument("--stream", choices=["sharded", "plain"])
    p.add_argument("--validate", action="store_true", help="a second loader of the same data set")
    p.add_argument("--pause-ms", type=float, default=0, help="between two epochs")
    p.add_argument("--evaluate-every", type=int, default=0, help="batches, without a loader of its own")
    p.add_argument("--evaluate-ms", type=float, default=0)
    p.add_argument("--again", action="store_true", help="a new loader for each epoch")
    p.add_argument("--persistent", action="store_true", help="workers that stay for all epochs")
    p.add_argument("--leave-after", type=int, default=0, help="batches of an epoch; those that were prefetched are thrown away")
    p.add_argument("--ignore", action="store_true", help="SIGINT is ignored")
    p.add_argument("--fail-with", type=int, help="fail when the workers are so many")
    a = p.parse_args()
    torch.set_num_threads(1)
    if a.ignore:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    data = Slow(a.samples, a.sample_ms, a.long_ms, a.tensors)
    if a.stream:
        data = (Sharded if a.stream == "sharded" else Plain)(data)
    options = dict(prefetch_factor=a.prefetch, persistent_workers=a.persistent) if a.workers else {}
    if a.join:
        options["collate_fn"] = joined
    shuffle = None if a.stream else True

    def train_loader():
        return DataLoader(data, a.batch, shuffle, num_workers=a.workers, **options)

    check = DataLoader(Slow(8, 0, 0), batch_size=2) if a.validate else None
    loader = train_loader()
    print("workers", loader.num_workers, "prefetch", loader.prefetch_factor, flush=True)
    if a.fail_with == loader.num_workers:
        sys.exit("no room for %d workers" % loader.num_workers)
    for epoch in range(a.epochs):
        if a.again and epoch:
            loader = train_loader()
        for n, batch in enumerate(loader, 1):
            time.sleep(a.step_ms / 1000)
            if a.evaluate_every and n % a.evaluate_every == 0:
                time.sleep(a.evaluate_ms / 1000)
            if n == a.leave_after:
                break
        if check is not None:
            print("validated", sum(len(b) for b in check), flush=True)
        print("epoch", epoch, flush=True)
        time.sleep(a.pause_ms / 1000)


if __name__ == "__main__":
    main()
