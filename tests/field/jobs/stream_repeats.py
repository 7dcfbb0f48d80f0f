"""A stream without sharding: each of two workers gives every sample, so an epoch has each twice. Fix: get_worker_info()."""
import time

import torch
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

from job import Job


class Walks(IterableDataset):
    def __init__(self, split):
        self.split = split

    def __iter__(self):
        worker = get_worker_info()
        step = worker.num_workers if self.split else 1
        for i in range(worker.id if self.split else 0, 2000, step):
            yield torch.full((32,), float(i)), i % 3


if __name__ == "__main__":
    job = Job()
    loader = DataLoader(Walks(job.fix), batch_size=32, num_workers=2)
    model = torch.nn.Linear(32, 3)
    for epoch in job.epochs():
        for x, y in loader:
            torch.nn.functional.cross_entropy(model(x), y).backward()
            time.sleep(0.012)
            if job.took(len(y)):
                break
