"""Every 20 steps a validation of four batches; its loader starts two workers, and each sorts its index. Fix: persistent_workers=True of that loader."""
import time

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset, get_worker_info

from job import Job


class Signals(Dataset):
    def __init__(self, n):
        self.n, self.x = n, np.random.default_rng(4).random((1000, 512), dtype=np.float32)

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        return torch.from_numpy(np.abs(np.fft.rfft(self.x[i % 1000]))).float(), i % 4


def sort_index(worker):
    get_worker_info().dataset.order = np.argsort(np.random.default_rng(worker).random(1500000))


if __name__ == "__main__":
    job = Job()
    train = DataLoader(Signals(200000), batch_size=32, shuffle=True, num_workers=1)
    val = DataLoader(Signals(128), batch_size=32, num_workers=2, worker_init_fn=sort_index, persistent_workers=job.fix)
    model = torch.nn.Linear(257, 4)
    for epoch in job.epochs():
        for step, (x, y) in enumerate(train):
            torch.nn.functional.cross_entropy(model(x), y).backward()
            time.sleep(0.012)
            done = job.took(len(y))
            if step % 20 == 19:
                for vx, vy in val:
                    model(vx)
            if done:
                break
