"""Slices of scans are deformed by a random field that is smoothed at their full size. Fix: the field is drawn on a coarse grid and enlarged."""
import time

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

from job import Job


def smoothed(field, sigma):
    reach = int(3 * sigma)
    kernel = np.exp(-0.5 * (np.arange(-reach, reach + 1) / sigma) ** 2)
    kernel /= kernel.sum()
    for axis in (0, 1):
        field = np.apply_along_axis(np.convolve, axis, field, kernel, mode="same")
    return field


class Elastic:
    def __init__(self, coarse):
        self.coarse = coarse

    def field(self, side):
        step = 8 if self.coarse else 1
        noise = np.random.uniform(-1, 1, (side // step, side // step))
        return np.kron(smoothed(noise, 16 / step), np.ones((step, step))) * 60

    def __call__(self, scan):
        side = len(scan)
        y, x = np.mgrid[:side, :side]
        y = np.clip(y + self.field(side), 0, side - 1).astype(int)
        x = np.clip(x + self.field(side), 0, side - 1).astype(int)
        return scan[y, x]


class Compose:
    def __init__(self, *members):
        self.members = members

    def __call__(self, x):
        for m in self.members:
            x = m(x)
        return x


def brighter(scan):
    return scan * np.float32(np.random.uniform(0.7, 1.5))


class Slices(Dataset):
    def __init__(self, transform):
        self.scans = np.random.default_rng(8).normal(size=(60, 192, 192)).astype(np.float32)
        self.transform = transform

    def __len__(self):
        return 3000

    def __getitem__(self, i):
        return torch.from_numpy(self.transform(self.scans[i % 60]))


if __name__ == "__main__":
    job = Job()
    loader = DataLoader(Slices(Compose(brighter, Elastic(job.fix))), batch_size=8, shuffle=True, num_workers=4 if job.knob == "workers" else 2)
    model = torch.nn.Conv2d(1, 4, 5, stride=4)
    for epoch in job.epochs():
        for x in loader:
            model(x[:, None]).mean().backward()
            time.sleep(0.010)
            if job.took(len(x)):
                break
