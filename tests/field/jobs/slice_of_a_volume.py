"""One slice of a compressed volume: the whole of it is inflated for each sample. Fix: volumes are inflated once, and mapped."""
import gzip
import time

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

from job import Job


def make(path):
    volume = np.random.default_rng(8).integers(0, 40, (64, 160, 160), dtype=np.int16)
    with gzip.open(path, "wb", 1) as f:
        f.write(volume.tobytes())
    volume.tofile(path.replace("part-", "") + ".raw")


class Slices(Dataset):
    def __init__(self, path, mapped):
        self.path, self.volume = path, np.memmap(path + ".raw", np.int16, shape=(64, 160, 160)) if mapped else None

    def __len__(self):
        return 640

    def __getitem__(self, i):
        volume = self.volume
        if volume is None:
            with gzip.open(self.path) as f:
                volume = np.frombuffer(f.read(), np.int16).reshape(64, 160, 160)
        return torch.from_numpy(volume[i % 64].astype(np.float32))


if __name__ == "__main__":
    job = Job()
    path = job.data("brain.gz", make)
    loader = DataLoader(Slices(path, job.fix), batch_size=4, shuffle=True, num_workers=2, persistent_workers=True)
    for epoch in job.epochs():
        for x in loader:
            x.std().item()
            time.sleep(0.01)
            if job.took(len(x)):
                break
