"""Lines are read by a pool of the job's own, whose answers are lists of numbers that the trainer unpickles. Fix: answers are arrays."""
import multiprocessing
import time

import numpy as np
import torch
from torch.utils.data import DataLoader, IterableDataset

from job import Job

ROWS = np.random.default_rng(0).normal(size=(64, 40, 120))


def load(k):
    return ROWS[np.arange(8) * k % 64].tolist()


def load_array(k):
    return ROWS[np.arange(8) * k % 64]


class Pooled(IterableDataset):
    def __init__(self, as_array):
        self.pool, self.load = multiprocessing.Pool(1), load_array if as_array else load

    def __iter__(self):
        for batch in self.pool.imap(self.load, range(400)):
            yield torch.as_tensor(batch, dtype=torch.float32)


if __name__ == "__main__":
    job = Job()
    loader = DataLoader(Pooled(job.fix), batch_size=None)
    model = torch.nn.Linear(120, 8)
    for epoch in job.epochs():
        for x in loader:
            model(x).square().mean().backward()
            time.sleep(0.006)
            if job.took(len(x)):
                break
