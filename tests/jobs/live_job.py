"""A training script whose samples sleep, of one long epoch or, with --length, of many: what a change of its DataLoader gains depends on the
change alone. Prints its rates in batches/s, one for each two seconds, and whether the samples of the first epoch came in the order that its
sampler gives.

live_job.py --workers N --sample-ms MS --step-ms MS --seconds S [--length N] [--asks | --sampler]: a data set that asks which worker it is in, a sampler of its own"""

import argparse
import time

import torch
from torch.utils.data import DataLoader, Dataset, RandomSampler, get_worker_info


class Slow(Dataset):
    def __init__(self, ms, length):
        self.ms, self.length = ms, length

    def __len__(self):
        return self.length

    def __getitem__(self, i):
        time.sleep(self.ms / 1000)
        return torch.tensor([i])


class Asks(Slow):
    def __getitem__(self, i):
        assert get_worker_info().num_workers
        return super().__getitem__(i)


class Own(RandomSampler):
    pass


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--workers", type=int)
    for name in ("--sample-ms", "--step-ms", "--seconds"):
        p.add_argument(name, type=float)
    p.add_argument("--length", type=int, default=100000)
    p.add_argument("--asks", action="store_true")
    p.add_argument("--sampler", action="store_true")
    a = p.parse_args()
    torch.manual_seed(3)
    data = (Asks if a.asks else Slow)(a.sample_ms, a.length)
    loader = DataLoader(data, 8, sampler=(Own if a.sampler else RandomSampler)(data), num_workers=a.workers)
    got, rates, n = [], [], 0
    begin = last = time.monotonic()
    while time.monotonic() - begin <= a.seconds:
        for batch in loader:
            got += batch[:, 0].tolist()
            time.sleep(a.step_ms / 1000)
            n, now = n + 1, time.monotonic()
            if now - last > 2:
                rates.append("%.1f" % (n / (now - last)))
                n, last = 0, now
            if now - begin > a.seconds:
                break
    print("rates", *rates)
    torch.manual_seed(3)
    torch.empty((), dtype=torch.int64).random_()  # the workers' seed
    wanted = list(RandomSampler(loader.dataset))
    print("order as without:", got[: len(wanted)] == wanted[: len(got)], flush=True)


if __name__ == "__main__":
    main()
