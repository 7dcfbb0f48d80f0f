"""A table in memory, one Python call per row, no workers. Fix: one index operation per batch."""
import torch
from torch.utils.data import BatchSampler, DataLoader, Dataset, RandomSampler

from job import Job


class Table(Dataset):
    def __init__(self, n):
        self.x, self.y = torch.randn(n, 24), torch.randint(0, 2, (n,))

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


if __name__ == "__main__":
    job = Job()
    data = Table(400000)
    if job.fix:
        loader = DataLoader(data, batch_size=None, sampler=BatchSampler(RandomSampler(data), 2048, False))
    else:
        loader = DataLoader(data, batch_size=2048, shuffle=True, num_workers=2 if job.knob == "workers" else 0)
    model = torch.nn.Sequential(torch.nn.Linear(24, 64), torch.nn.ReLU(), torch.nn.Linear(64, 2))
    for epoch in job.epochs():
        for x, y in loader:
            torch.nn.functional.cross_entropy(model(x), y).backward()
            if job.took(len(y)):
                break
