"""Many recordings are one data set; which of them holds sample i is found by adding up their lengths. Fix: the sums are kept and searched."""
import bisect
import itertools
import time

import torch
from torch.utils.data import DataLoader, Dataset

from job import Job


class Take(Dataset):
    def __init__(self, k):
        self.x = torch.sin(torch.arange(1024) * (k + 1) / 100)

    def __len__(self):
        return len(self.x) - 128 + 1

    def __getitem__(self, i):
        return self.x[i:i + 128], self.x[i + 127]


class Takes(Dataset):
    def __init__(self, takes, keep):
        self.takes = takes
        self.sums = list(itertools.accumulate(len(t) for t in takes)) if keep else None

    def __len__(self):
        return sum(len(t) for t in self.takes)

    def lookup(self, i):
        if self.sums:
            k = bisect.bisect_right(self.sums, i)
            return k, i - (self.sums[k - 1] if k else 0)
        past = 0
        for k, t in enumerate(self.takes):
            if i < past + len(t):
                return k, i - past
            past += len(t)

    def __getitem__(self, i):
        k, j = self.lookup(i)
        return self.takes[k][j]


if __name__ == "__main__":
    job = Job()
    data = Takes([Take(k) for k in range(600)], job.fix)
    loader = DataLoader(data, batch_size=64, shuffle=True, num_workers={"workers": 4, "none": 0}.get(job.knob, 2))
    model = torch.nn.Linear(128, 1)
    for epoch in job.epochs():
        for x, y in loader:
            (model(x)[:, 0] - y).square().mean().backward()
            time.sleep(0.004)
            if job.took(len(y)):
                break
