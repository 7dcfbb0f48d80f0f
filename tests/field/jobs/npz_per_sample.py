"""Each volume is a compressed .npz file, of which one slice is used. Fix: .npy files, mapped."""
import os
import time

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

from job import Job


def make(path):
    os.makedirs(path)
    draw = np.random.default_rng(6)
    for i in range(24):
        x = draw.integers(0, 40, (32, 96, 96)).astype(np.int16)
        np.savez_compressed(os.path.join(path, f"{i}.npz"), data=x)
        np.save(os.path.join(path, f"{i}.npy"), x)


class Slices(Dataset):
    def __init__(self, path, unpacked):
        self.path, self.unpacked = path, unpacked

    def __len__(self):
        return 24 * 32

    def __getitem__(self, i):
        name = os.path.join(self.path, str(i // 32))
        volume = np.load(name + ".npy", mmap_mode="r") if self.unpacked else np.load(name + ".npz")["data"]
        return torch.from_numpy(volume[i % 32].astype(np.float32))


if __name__ == "__main__":
    job = Job()
    path = job.data("volumes", make)
    loader = DataLoader(Slices(path, job.fix), batch_size=8, shuffle=True, num_workers=2, persistent_workers=True)
    for epoch in job.epochs():
        for x in loader:
            x.std().item()
            time.sleep(0.01)
            if job.took(len(x)):
                break
