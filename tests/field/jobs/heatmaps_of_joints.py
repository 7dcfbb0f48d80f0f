"""A heat map of the whole picture is computed for each joint. Fix: only the patch around it, from one bell made once."""
import time

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

from job import Job

W, H, JOINTS, SIGMA = 72, 96, 133, 2.0


def bell(size):
    x = np.arange(size, dtype=np.float32)
    return np.exp(-((x[None] - size // 2) ** 2 + (x[:, None] - size // 2) ** 2) / (2 * SIGMA**2))


class Persons(Dataset):
    def __init__(self, patch):
        rng = np.random.default_rng(1)
        self.joints = rng.uniform(8, 60, (500, JOINTS, 2)).astype(np.float32)
        self.patch = bell(13) if patch else None

    def __len__(self):
        return 5000

    def target(self, joints):
        maps = np.zeros((JOINTS, H, W), np.float32)
        xs, ys = np.meshgrid(np.arange(W, dtype=np.float32), np.arange(H, dtype=np.float32))
        for k, (x, y) in enumerate(joints):
            if self.patch is not None:
                u, v = int(x), int(y)
                maps[k, v - 6 : v + 7, u - 6 : u + 7] = self.patch
            else:
                maps[k] = np.exp(-((xs - x) ** 2 + (ys - y) ** 2) / (2 * SIGMA**2))
        return maps

    def __getitem__(self, i):
        return torch.randn(3, 48, 36), torch.from_numpy(self.target(self.joints[i % 500]))


if __name__ == "__main__":
    job = Job()
    loader = DataLoader(Persons(job.fix), batch_size=8, shuffle=True, num_workers=4 if job.knob == "workers" else 2,
                        prefetch_factor=8 if job.knob == "prefetch" else 2)
    model = torch.nn.ConvTranspose2d(3, JOINTS, 2, 2)
    for epoch in job.epochs():
        for x, y in loader:
            with torch.no_grad():
                (model(x) - y).abs().mean()
            time.sleep(0.015)
            if job.took(len(y)):
                break
