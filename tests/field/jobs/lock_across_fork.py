"""A thread of the trainer holds a lock when the workers are forked, and their first sample waits for it. Fix: no lock held at the fork."""
import threading
import time

import torch
from torch.utils.data import DataLoader, Dataset

from job import Job

CACHE_LOCK = threading.Lock()


class Cached(Dataset):
    def __len__(self):
        return 20000

    def __getitem__(self, i):
        with CACHE_LOCK:
            return torch.full((16,), float(i % 5))


def refresh():
    while True:
        with CACHE_LOCK:
            time.sleep(0.5)


if __name__ == "__main__":
    job = Job()
    loader = DataLoader(Cached(), batch_size=32, num_workers=2, timeout=6)
    model = torch.nn.Linear(16, 1)
    for epoch in job.epochs():
        if epoch == 0 and not job.fix:
            threading.Thread(target=refresh, daemon=True).start()
            time.sleep(0.1)
        for x in loader:
            model(x).mean().backward()
            time.sleep(0.01)
            if job.took(len(x)):
                break
