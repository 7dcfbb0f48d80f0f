"""Float64 arrays over a link of 24 MB/s that is full. Fix: fewer bytes (float16)."""
import os
import time

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

from job import Job


def volumes(path):
    os.makedirs(path)
    for i in range(400):
        x = np.random.default_rng(i).random((64, 512))
        np.save(f"{path}/{i}-64.npy", x)
        np.save(f"{path}/{i}-16.npy", x.astype(np.float16))


class Volumes(Dataset):
    def __init__(self, path, bits):
        self.path, self.bits = path, bits

    def __len__(self):
        return 400

    def __getitem__(self, i):
        return torch.from_numpy(np.load(f"{self.path}/{i}-{self.bits}.npy")).float().mean(0)


if __name__ == "__main__":
    job = Job()
    path = job.data("volumes", volumes)
    loader = DataLoader(Volumes(path, 16 if job.fix else 64), batch_size=8, shuffle=True, num_workers=8 if job.knob == "workers" else 2, persistent_workers=True)
    model = torch.nn.Linear(512, 2)
    for epoch in job.epochs():
        for x in loader:
            model(x).mean().backward()
            time.sleep(0.01)
            if job.took(len(x)):
                break
