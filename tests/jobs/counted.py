"""A job that prints each batch it has had, and how often SIGINT came: for tests that end it. It knows nothing of pipeprobe.

counted.py [--handler default|counts|ignores|dies] [--batches N] [--sample-ms MS] [--step-ms MS] [--workers N] [--samples N] [--batch N]
           [--slow-validation MS] [--validation-samples N]"""

import argparse
import signal
import sys
import time

import torch
from torch.utils.data import DataLoader, Dataset


class Train(Dataset):
    def __init__(self, n, ms):
        self.n, self.ms = n, ms

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        if self.ms:
            time.sleep(self.ms / 1000)
        return torch.tensor([i])


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--handler", default="default")
    p.add_argument("--batches", type=int, default=100000)
    p.add_argument("--sample-ms", type=float, default=5)
    p.add_argument("--step-ms", type=float, default=5)
    p.add_argument("--workers", type=int, default=2)
    p.add_argument("--samples", type=int, default=100000)
    p.add_argument("--batch", type=int, default=4)
    p.add_argument("--slow-validation", type=float, default=0)
    p.add_argument("--validation-samples", type=int, default=40)
    a = p.parse_args()
    torch.set_num_threads(1)
    came = [0]

    def count(*_):
        came[0] += 1

    if a.handler in ("counts", "ignores"):
        signal.signal(signal.SIGINT, count if a.handler == "counts" else signal.SIG_IGN)
    loader = DataLoader(Train(a.samples, a.sample_ms), a.batch, num_workers=a.workers)
    validation = DataLoader(Train(a.validation_samples, a.slow_validation), 4, num_workers=a.workers) if a.slow_validation else ()
    n = waited = 0
    began = time.monotonic()
    try:
        while n < a.batches and not came[0]:
            batches = iter(loader)
            while n < a.batches and not came[0]:
                t = time.monotonic()
                batch = next(batches, None)
                waited += (time.monotonic() - t) * (batch is not None)
                if batch is None:
                    break
                time.sleep(a.step_ms / 1000)
                n += 1
                print("batch", n, *(batch[0].tolist() if n <= 3 else ()), flush=True)
                del batch
                if n % 40 == 0:
                    for _ in validation:
                        pass
            del batches
    except KeyboardInterrupt:
        if a.handler == "dies":
            raise
        print("interrupted", flush=True)
        sys.exit(9)
    print("waited %.6f took %.6f signals %d" % (waited, time.monotonic() - began, came[0]), flush=True)


if __name__ == "__main__":
    main()
