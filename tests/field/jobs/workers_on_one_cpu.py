"""A library binds each worker to the first CPU when it is imported there. Fix: os.sched_setaffinity in worker_init_fn."""
import os
import time

import torch
from torch.utils.data import DataLoader, Dataset

from job import Job


class Spectra(Dataset):
    def __len__(self):
        return 100000

    def __getitem__(self, i):
        x = torch.arange(16384, dtype=torch.float32) * (1 + i % 5)
        for _ in range(6):
            x = torch.fft.rfft(x).abs().repeat(2)[:16384]
        return x[:256]


def bound(worker):
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


if __name__ == "__main__":
    job = Job()
    loader = DataLoader(Spectra(), batch_size=32, num_workers=2, worker_init_fn=None if job.fix else bound)
    model = torch.nn.Linear(256, 2)
    for epoch in job.epochs():
        for x in loader:
            model(x).mean().backward()
            time.sleep(0.005)
            if job.took(len(x)):
                break
