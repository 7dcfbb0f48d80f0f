"""A weighted draw without replacement from 14 million rows at the start of every epoch. Fix: draw block by block."""
import time

import torch
from torch.utils.data import DataLoader, Dataset, Sampler, WeightedRandomSampler

from job import Job


class Clicks(Dataset):
    def __len__(self):
        return 14000000

    def __getitem__(self, i):
        return torch.full((24,), float(i % 11)), i % 2


class Blocks(Sampler):
    def __init__(self, weights, count):
        self.sums, self.count = weights.double().cumsum(0), count

    def __len__(self):
        return self.count

    def __iter__(self):
        for at in range(0, self.count, 512):
            draw = torch.rand(min(512, self.count - at), dtype=torch.float64) * self.sums[-1]
            yield from torch.searchsorted(self.sums, draw).tolist()


if __name__ == "__main__":
    job = Job()
    weights = torch.rand(14000000) + 0.2
    sampler = Blocks(weights, 3200) if job.fix else WeightedRandomSampler(weights, 3200, replacement=False)
    loader = DataLoader(Clicks(), batch_size=64, sampler=sampler, num_workers=2, persistent_workers=job.knob == "persistent")
    model = torch.nn.Linear(24, 2)
    for epoch in job.epochs():
        for x, y in loader:
            torch.nn.functional.cross_entropy(model(x), y).backward()
            time.sleep(0.006)
            if job.took(len(y)):
                break
