"""The script binds itself, and so its workers, to one CPU. Fix: all CPUs of the job."""
import os
import time

import torch
from torch.utils.data import DataLoader, Dataset

from job import Job


class Waves(Dataset):
    def __len__(self):
        return 100000

    def __getitem__(self, i):
        x = torch.arange(20000, dtype=torch.float32) + i
        for _ in range(10):
            x = torch.sin(x)
        return x[:256]


if __name__ == "__main__":
    job = Job()
    if not job.fix:
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    loader = DataLoader(Waves(), batch_size=32, num_workers=2)
    model = torch.nn.Linear(256, 2)
    for epoch in job.epochs():
        for x in loader:
            model(x).mean().backward()
            time.sleep(0.005)
            if job.took(len(x)):
                break
