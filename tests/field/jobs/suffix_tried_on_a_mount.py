"""The labels' folder is asked for each of five suffixes before a sample is read, on a mount where a name costs 4 ms. Fix: the folder is listed once."""
import os
import time

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

from job import Job

SUFFIXES = (".tif", ".tiff", ".bmp", ".webp", ".npy")


def make(path):
    os.makedirs(path)
    for i in range(1200):
        np.save(os.path.join(path, f"scan_{i:05d}.npy"), np.full((48, 48), i % 251, np.float32))


class Scans(Dataset):
    def __init__(self, folder, listed):
        self.folder = folder
        self.names = {os.path.splitext(n)[0]: n for n in os.listdir(folder)} if listed else None

    def __len__(self):
        return 1200

    def path_of(self, i):
        stem = f"scan_{i:05d}"
        if self.names:
            return os.path.join(self.folder, self.names[stem])
        for suffix in SUFFIXES:
            path = os.path.join(self.folder, stem + suffix)
            if os.path.exists(path):
                return path
        raise FileNotFoundError(stem)

    def __getitem__(self, i):
        return torch.from_numpy(np.load(self.path_of(i)))


if __name__ == "__main__":
    job = Job()
    loader = DataLoader(Scans(job.data("scans", make), job.fix), batch_size=16, shuffle=True, num_workers=2)
    model = torch.nn.Linear(48, 8)
    for epoch in job.epochs():
        for x in loader:
            model(x).mean().backward()
            time.sleep(0.010)
            if job.took(len(x)):
                break
