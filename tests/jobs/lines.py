"""lines.py SECONDS: a busy function, one that sleeps, two loaders; ends with the time each truly took, by the clock, in this same run: one
line "busy NAP DECOY" of shares of the samples' time in the workers of the first loader and seconds of the second."""

import sys
import time

import torch
from torch.utils.data import DataLoader, Dataset


def burn(seconds):
    end = time.thread_time() + seconds
    n = 0
    while time.thread_time() < end:
        n += sum(range(400))
    return n


def nap(seconds):
    time.sleep(seconds)


class Train(Dataset):
    def __len__(self):
        return 1 << 20

    def __getitem__(self, i):
        a = time.perf_counter()
        burn(0.003)
        b = time.perf_counter()
        nap(0.005)
        return torch.tensor([b - a, time.perf_counter() - b])


class Decoy(Dataset):
    def __len__(self):
        return 1 << 20

    def __getitem__(self, i):
        burn(0.004)
        return torch.zeros(2)


def main(seconds):
    spent = torch.zeros(2)
    train = iter(DataLoader(Train(), batch_size=8, num_workers=2, multiprocessing_context=sys.argv[2] if len(sys.argv) > 2 else None))
    decoy = iter(DataLoader(Decoy(), batch_size=4, num_workers=1))
    next(train), next(decoy)  # spawned workers import torch first
    end = time.perf_counter() + seconds
    step = 0
    while time.perf_counter() < end:
        spent += next(train).sum(0)
        time.sleep(0.005)
        step += 1
        if step % 8 == 0:
            next(decoy)
    print("burn %.4f" % (spent[0] / spent.sum()))


if __name__ == "__main__":
    main(float(sys.argv[1]))
