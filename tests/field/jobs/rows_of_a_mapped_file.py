"""Rows of one large file on a mount where a read takes 4 ms are drawn in any order through np.memmap: a row is a page fault or more, each of which is a read.
Fix: 64 neighbours are read by one call and used in four batches, in an order of their own."""
import os
import time

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

from job import Job

COUNT, WIDTH, NEAR = 65536, 4096, 64  # 1 GiB


def reads(path):
    with open(path, "wb") as f:
        f.truncate(COUNT * WIDTH * 4)  # holes do for that: what counts is how it is read


class Chunks(Dataset):
    """Stretches of a recorded current, one per sample."""

    def __init__(self, path):
        self.rows = np.memmap(path, np.float32, "r", shape=(COUNT, WIDTH))

    def __len__(self):
        return COUNT

    def __getitem__(self, i):
        return torch.from_numpy(np.array(self.rows[i]))


class Neighbours(Dataset):
    def __init__(self, path):
        self.path, self.fd = path, None

    def __len__(self):
        return COUNT // NEAR

    def __getitem__(self, i):
        if self.fd is None:
            self.fd = os.open(self.path, os.O_RDONLY)
        data = os.pread(self.fd, NEAR * WIDTH * 4, i * NEAR * WIDTH * 4)
        return torch.from_numpy(np.frombuffer(data, np.float32).reshape(NEAR, WIDTH)[np.random.permutation(NEAR)])


if __name__ == "__main__":
    job = Job()
    path = job.data("reads.f32", reads)
    if job.fix:
        loader = DataLoader(Neighbours(path), batch_size=None, shuffle=True, num_workers=2)
    else:
        loader = DataLoader(Chunks(path), batch_size=16, shuffle=True, num_workers={"workers": 8}.get(job.knob, 2))
    model = torch.nn.Linear(WIDTH, 5)
    for epoch in job.epochs():
        for rows in loader:
            for x in rows.split(16):
                model(x).square().mean().backward()
                time.sleep(0.012)
                over = job.took(len(x))
            if over:
                break
