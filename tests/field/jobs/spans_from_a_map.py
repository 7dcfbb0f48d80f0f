"""A sample gathers three rows of an array that is mapped from a slow file system, wherever they stand. Fix: the rows of a sample stored side by side."""
import time

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

from job import Job

COUNT, WIDTH, SPANS = 1 << 20, 1024, 3  # 4 GiB


def words(path):
    with open(path, "wb") as f:
        f.truncate(COUNT * WIDTH * 4)  # holes do for that: what counts is how it is read


class Mentions(Dataset):
    def __init__(self, path, together):
        self.together = together
        self.words = np.memmap(path, np.float32, "r", shape=(COUNT, WIDTH))

    def __len__(self):
        return COUNT // SPANS

    def __getitem__(self, i):
        if self.together:
            return torch.from_numpy(self.words[i * SPANS : (i + 1) * SPANS].mean(0))
        near = np.random.default_rng(i).integers(0, COUNT, SPANS)
        return torch.from_numpy(np.stack([self.words[k] for k in near]).mean(0))


if __name__ == "__main__":
    job = Job()
    path = job.data("words.f32", words)
    loader = DataLoader(Mentions(path, job.fix), batch_size=16, shuffle=True, num_workers=6 if job.knob == "workers" else 2)
    score = torch.nn.Linear(WIDTH, 1)
    for epoch in job.epochs():
        for x in loader:
            score(x).mean().backward()
            time.sleep(0.02)
            if job.took(len(x)):
                break
