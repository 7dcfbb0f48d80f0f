"""Every 30 steps the validation set reads its index of JSON anew, and a loader of four batches is made for it. Fix: both are made once."""
import json
import os
import time

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

from job import Job


def make(path):
    os.makedirs(path)
    for part in range(4):
        with open(os.path.join(path, f"{part}.json"), "w") as f:
            json.dump([{"id": i, "box": [i % 7, i % 11, i % 13, i % 17], "words": ["w"] * 12, "score": i / 7} for i in range(12000)], f)


class Train(Dataset):
    def __len__(self):
        return 100000

    def __getitem__(self, i):
        return torch.full((8,), float(i))


class Held(Dataset):
    def __init__(self, path):
        rows = []
        for name in sorted(os.listdir(path)):
            with open(os.path.join(path, name)) as f:
                rows += json.load(f)
        self.boxes = [r["box"] for r in rows][:64]

    def __len__(self):
        return len(self.boxes)

    def __getitem__(self, i):
        return torch.from_numpy(np.array(self.boxes[i], np.float32))


def validate(loader):
    for x in loader:
        x.mean().item()
        time.sleep(0.004)


if __name__ == "__main__":
    job = Job()
    path = job.data("held", make)
    held = None if job.preparing else DataLoader(Held(path), batch_size=16)
    train = DataLoader(Train(), batch_size=16, shuffle=True)
    for epoch in job.epochs():
        for step, x in enumerate(train):
            x.mean().item()
            time.sleep(0.008)
            if step % 30 == 29:
                validate(held if job.fix else DataLoader(Held(path), batch_size=16))
            if job.took(len(x)):
                break
