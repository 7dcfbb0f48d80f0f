"""Spawned workers get an index of 120,000 objects pickled, in every epoch. Fix: persistent_workers=True."""
import time

import torch
from torch.utils.data import DataLoader, Dataset, SubsetRandomSampler

from job import Job


class Entry:
    def __init__(self, i):
        self.name, self.box, self.tags = f"scene/{i:07d}.tif", [i, i + 1, i + 2, i + 3], {"id": i, "cloud": i % 9}


class Scenes(Dataset):
    def __init__(self, n):
        self.entries = [Entry(i) for i in range(n)]

    def __len__(self):
        return len(self.entries)

    def __getitem__(self, i):
        return torch.full((3, 32, 32), float(self.entries[i].tags["cloud"])), i % 5


if __name__ == "__main__":
    job = Job()
    loader = DataLoader(Scenes(60000), batch_size=32, sampler=SubsetRandomSampler(range(3200)), num_workers=2,
                        multiprocessing_context="spawn", persistent_workers=job.fix)
    model = torch.nn.Linear(3, 5)
    for epoch in job.epochs():
        for x, y in loader:
            torch.nn.functional.cross_entropy(model(x.mean((2, 3))), y).backward()
            time.sleep(0.008)
            if job.took(len(y)):
                break
