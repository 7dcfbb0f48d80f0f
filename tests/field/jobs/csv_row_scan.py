"""Row i of a CSV file by reading the rows before it. Fix: the rows' offsets, found once."""
import itertools
import random
import time

import torch
from torch.utils.data import DataLoader, Dataset

from job import Job


def readings(path):
    draw = random.Random(3)
    with open(path, "w") as f:
        for i in range(60000):
            f.write(",".join(f"{draw.random():.6f}" for _ in range(12)) + f",{i % 3}\n")


class Readings(Dataset):
    def __init__(self, path, offsets):
        self.path, self.offsets = path, None
        if offsets:
            self.offsets, at = [], 0
            with open(path, "rb") as f:
                for line in f:
                    self.offsets.append(at)
                    at += len(line)

    def __len__(self):
        return 60000

    def __getitem__(self, i):
        with open(self.path) as f:
            if self.offsets:
                f.seek(self.offsets[i])
                line = f.readline()
            else:
                line = next(itertools.islice(f, i, None))
        *x, y = line.split(",")
        return torch.tensor([float(v) for v in x]), int(y)


if __name__ == "__main__":
    job = Job()
    path = job.data("readings.csv", readings)
    loader = DataLoader(Readings(path, job.fix), batch_size=16, shuffle=True, num_workers=2)
    model = torch.nn.Linear(12, 3)
    for epoch in job.epochs():
        for x, y in loader:
            torch.nn.functional.cross_entropy(model(x), y).backward()
            time.sleep(0.008)
            if job.took(len(y)):
                break
