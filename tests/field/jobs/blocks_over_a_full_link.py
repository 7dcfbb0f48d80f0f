"""Blocks of one large file are read at random over a link of 20 MB/s that is full. Fix: a byte for each number."""
import os
import time

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

from job import Job

N, WIDTH = 600, 40960


def signals(path):
    os.makedirs(path)
    x = np.random.default_rng(0).standard_normal((N, WIDTH)).astype(np.float32)
    x.tofile(f"{path}/f32.bin")
    (x * 20).clip(-127, 127).astype(np.int8).tofile(f"{path}/i8.bin")


class Signals(Dataset):
    def __init__(self, path, dtype):
        self.path, self.dtype, self.block = path, dtype, WIDTH * np.dtype(dtype).itemsize

    def __len__(self):
        return N

    def __getitem__(self, i):
        with open(self.path, "rb", buffering=0) as f:
            os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
            f.seek(i * self.block)
            x = np.frombuffer(f.read(self.block), self.dtype).astype(np.float32)
        return torch.from_numpy(np.sort(x.reshape(40, 1024), axis=0)).mean(0)


if __name__ == "__main__":
    job = Job()
    path = job.data("signals", signals)
    data = Signals(f"{path}/i8.bin", np.int8) if job.fix else Signals(f"{path}/f32.bin", np.float32)
    workers = 12 if job.knob == "workers" else 2
    loader = DataLoader(data, batch_size=8, shuffle=True, num_workers=workers, persistent_workers=True)
    model = torch.nn.Linear(1024, 2)
    for epoch in job.epochs():
        for x in loader:
            model(x).mean().backward()
            time.sleep(0.012)
            if job.took(len(x)):
                break
