"""A job whose operation is known. Of two that are equally hot, Blur's loader is waited for and Decoy's is not. Arguments: seconds; the
file with Blur's scale, which may change while it runs: each change is a line "SCALE SAMPLES/S" on standard output, and the last one is the CPU time in s that job and workers used."""

import os
import sys
import time

from torch.utils.data import DataLoader, Dataset, default_collate

seconds, control = float(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else None


def scale():
    if not control:
        return 1.0
    with open(control) as f:
        return float(f.read() or 1)


def spin(n):
    s = 0
    for i in range(n):
        s += i & 3
    return s


class Blur:
    def __init__(self, radius):
        self.radius = radius

    def __call__(self, x):
        spin(int(50000 * scale()))  # line: blur
        return x


class Sharpen:
    def __call__(self, x):
        spin(20000)
        return x


class Decoy:
    def __call__(self, x):
        spin(40000)
        return x


class Compose:
    def __init__(self, transforms):
        self.transforms = transforms

    def __call__(self, x):
        for t in self.transforms:
            x = t(x)
        return x


class Pictures(Dataset):
    def __init__(self, transform):
        self.transform = transform

    def __len__(self):
        return 1 << 20

    def __getitem__(self, i):
        return self.transform(i)


if __name__ == "__main__":
    train = DataLoader(Pictures(Compose([Blur(2), Sharpen()])), batch_size=8, num_workers=2, collate_fn=default_collate)
    other = iter(DataLoader(Pictures(Compose([Decoy()])), batch_size=8, num_workers=1))
    began = last = time.monotonic()
    turns, now, n = 0, scale(), 0
    batches = iter(train)
    for k, _ in enumerate(batches):
        time.sleep(0.004)
        if k % 8 == 7:
            next(other)
        n += 8
        if scale() != now or time.monotonic() - began > seconds:
            print(now, n / (time.monotonic() - last), flush=True)
            now, n, last = scale(), 0, time.monotonic()
        if time.monotonic() - began > seconds:
            break
    del batches, other
    if control:
        print(sum(os.times()[:4]))
