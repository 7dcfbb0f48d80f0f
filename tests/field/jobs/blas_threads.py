"""NumPy's BLAS takes eight threads in each of six workers. Fix: one thread per worker (OMP_NUM_THREADS=1)."""
import os
import sys
import time

os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1" if "--fix" in sys.argv else "8"
import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

from job import Job


class Embedded(Dataset):
    def __init__(self):
        self.base = np.random.default_rng(0).random((192, 192), dtype=np.float32)

    def __len__(self):
        return 100000

    def __getitem__(self, i):
        x = self.base
        for _ in range(12):
            x = x @ self.base / 96
        return torch.from_numpy(x[0])


if __name__ == "__main__":
    job = Job()
    loader = DataLoader(Embedded(), batch_size=32, num_workers=6)
    model = torch.nn.Linear(192, 2)
    for epoch in job.epochs():
        for x in loader:
            model(x).mean().backward()
            time.sleep(0.004)
            if job.took(len(x)):
                break
