"""One small file per picture on a mount where an open takes 12 ms and a read 4 ms. Fix: more reads in flight, num_workers=16."""
import os
import time

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

from job import Job


def features(path):
    os.makedirs(path)
    for i in range(1500):
        np.save(f"{path}/{i}.npy", np.full((36, 64), i, dtype=np.float32))


class Features(Dataset):
    def __init__(self, path):
        self.path = path

    def __len__(self):
        return 1500

    def __getitem__(self, i):
        return torch.from_numpy(np.load(f"{self.path}/{i}.npy")), i % 10


if __name__ == "__main__":
    job = Job()
    path = job.data("features", features)
    loader = DataLoader(Features(path), batch_size=16, shuffle=True, num_workers=16 if job.fix else 2)
    model = torch.nn.Linear(64, 10)
    for epoch in job.epochs():
        for x, y in loader:
            torch.nn.functional.cross_entropy(model(x.mean(1)), y).backward()
            time.sleep(0.01)
            if job.took(len(y)):
                break
