"""Point clouds are thinned by taking the farthest point again and again, in each access. Fix: a random choice of points."""
import time

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

from job import Job


def farthest(points, n):
    chosen = np.zeros(n, np.int64)
    left = np.full(len(points), 1e9)
    last = 0
    for k in range(n):
        chosen[k] = last
        left = np.minimum(left, ((points - points[last]) ** 2).sum(1))
        last = int(left.argmax())
    return points[chosen]


class Scans(Dataset):
    def __init__(self, uniform):
        self.clouds = np.random.default_rng(8).standard_normal((60, 2048, 3)).astype(np.float32)
        self.uniform = uniform

    def __len__(self):
        return 4000

    def __getitem__(self, i):
        points = self.clouds[i % 60] + np.random.normal(0, 0.01, 3).astype(np.float32)
        if self.uniform:
            points = farthest(points, 256)
        else:
            points = points[np.random.choice(2048, 256, replace=False)]
        return torch.from_numpy(points - points.mean(0)), i % 10


if __name__ == "__main__":
    job = Job()
    loader = DataLoader(Scans(not job.fix), batch_size=16, shuffle=True, num_workers=4 if job.knob == "workers" else 2,
                        prefetch_factor=8 if job.knob == "prefetch" else 2)
    model = torch.nn.Sequential(torch.nn.Linear(3, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10))
    for epoch in job.epochs():
        for x, y in loader:
            torch.nn.functional.cross_entropy(model(x).amax(1), y).backward()
            time.sleep(0.02)
            if job.took(len(y)):
                break
