"""The HDF5 file is opened for each sample, and its compressed images are read one by one. Fix: opened once per worker, images not compressed."""
import time

import h5py
import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

from job import Job


def make(path):
    draw = np.random.default_rng(3)
    with h5py.File(path, "w") as f:
        for g in range(40):
            group = f.create_group(f"patient{g}")
            for k in range(20):
                x = draw.integers(0, 60, (128, 128), dtype=np.int16)
                group.create_dataset(f"slice{k}", data=x, compression="gzip", compression_opts=6)
                group.create_dataset(f"plain{k}", data=x)


class Scans(Dataset):
    def __init__(self, path, fixed):
        self.path, self.fixed, self.file = path, fixed, None

    def __len__(self):
        return 800

    def __getitem__(self, i):
        if self.fixed:
            self.file = self.file or h5py.File(self.path, "r")
            return torch.from_numpy(self.file[f"patient{i // 20}/plain{i % 20}"][:].astype(np.float32))
        with h5py.File(self.path, "r") as f:
            return torch.from_numpy(f[f"patient{i // 20}/slice{i % 20}"][:].astype(np.float32))


if __name__ == "__main__":
    job = Job()
    path = job.data("scans.h5", make)
    loader = DataLoader(Scans(path, job.fix), batch_size=16, shuffle=True, num_workers=2, persistent_workers=True)
    for epoch in job.epochs():
        for x in loader:
            x.std().item()
            time.sleep(0.006)
            if job.took(len(x)):
                break
