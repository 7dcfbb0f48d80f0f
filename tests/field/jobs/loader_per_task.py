"""Meta-learning: a DataLoader with two workers is made for each task of four batches. Fix: one loader over all tasks."""
import time

import torch
from torch.utils.data import BatchSampler, DataLoader, Dataset, SequentialSampler, Subset

from job import Job


class Characters(Dataset):
    def __len__(self):
        return 64000

    def __getitem__(self, i):
        return torch.full((1, 28, 28), float(i % 20)), i % 5


def step(model, job, x, y):
    torch.nn.functional.cross_entropy(model(x.flatten(1)), y).backward()
    time.sleep(0.006)
    return job.took(len(y))


if __name__ == "__main__":
    job = Job()
    data = Characters()
    model = torch.nn.Linear(784, 5)
    for epoch in job.epochs():
        if job.fix:
            batches = BatchSampler(SequentialSampler(data), 25, True)
            any(step(model, job, x, y) for x, y in DataLoader(data, batch_sampler=batches, num_workers=2))
            continue
        for task in range(0, len(data), 100):
            loader = DataLoader(Subset(data, range(task, task + 100)), batch_size=25, num_workers=2)
            if any(step(model, job, x, y) for x, y in loader):
                break
