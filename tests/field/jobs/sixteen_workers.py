"""Sixteen workers on few CPUs, started anew for short epochs. Fix: two workers."""
import time

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

from job import Job


class Patches(Dataset):
    def __init__(self):
        self.x = np.random.default_rng(4).integers(0, 255, (512, 64, 64, 3), dtype=np.uint8)

    def __len__(self):
        return 512

    def __getitem__(self, i):
        x = self.x[i].astype(np.float32) / 255
        return torch.from_numpy((x - x.mean((0, 1))) / x.std((0, 1)))


if __name__ == "__main__":
    job = Job()
    workers = 2 if job.fix else 16
    loader = DataLoader(Patches(), batch_size=16, shuffle=True, num_workers=workers, persistent_workers=job.knob == "persistent")
    for epoch in job.epochs():
        for x in loader:
            x.mean().item()
            time.sleep(0.004)
            if job.took(len(x)):
                break
