"""Patches of volumes: __getitem__ takes one from a list, and fills the list by a loader of its own, with workers, when it is empty. Fix: patches come from the
workers as they are cut."""
import random
import time

import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset

from job import Job


class Volumes(Dataset):
    def __len__(self):
        return 400

    def __getitem__(self, i):
        v = torch.randn(1, 56, 56, 56, generator=torch.Generator().manual_seed(i))
        return (torch.nn.functional.avg_pool3d(v, 5, 1, 2) - v.mean()) / v.std()


def cut(volume, n):
    for _ in range(n):
        x, y, z = (random.randrange(24) for _ in range(3))
        yield volume[:, x:x + 32, y:y + 32, z:z + 32].clone()


class PatchQueue(Dataset):
    def __init__(self):
        self.inner, self.patches = None, []

    def __len__(self):
        return 4000

    def fill(self):
        for _ in range(12):
            if self.inner is None:
                self.inner = iter(DataLoader(Volumes(), batch_size=None, shuffle=True, num_workers=2, prefetch_factor=1))
            volume = next(self.inner, None)
            if volume is None:
                self.inner = None
                continue
            self.patches.extend(cut(volume, 10))
        random.shuffle(self.patches)

    def __getitem__(self, i):
        if not self.patches:
            self.fill()
        return self.patches.pop()


class Stream(IterableDataset):
    def __iter__(self):
        for i in torch.randperm(400).tolist():
            yield from cut(Volumes()[i], 10)


if __name__ == "__main__":
    job = Job()
    torch.set_num_threads(1)
    loader = DataLoader(Stream(), batch_size=8, num_workers=2) if job.fix else DataLoader(PatchQueue(), batch_size=8)
    model = torch.nn.Conv3d(1, 2, 5, stride=4)
    for epoch in job.epochs():
        for x in loader:
            model(x).square().mean().backward()
            time.sleep(0.03)
            if job.took(len(x)):
                break
