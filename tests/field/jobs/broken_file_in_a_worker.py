"""One picture of 400 is cut off, and the worker that reads it raises. Fix: it is left out."""
import os
import time

import numpy as np
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset

from job import Job


def pictures(path):
    os.makedirs(path)
    for i in range(400):
        Image.fromarray(np.full((64, 64, 3), i % 256, np.uint8)).save(f"{path}/{i:03d}.png")
    with open(f"{path}/287.png", "r+b") as f:
        f.truncate(60)


class Pictures(Dataset):
    def __init__(self, path, skip):
        self.files = sorted(f"{path}/{name}" for name in os.listdir(path) if not (skip and name == "287.png"))

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        with Image.open(self.files[i]) as image:
            return torch.from_numpy(np.array(image.convert("RGB")))


if __name__ == "__main__":
    job = Job()
    path = job.data("pictures", pictures)
    loader = DataLoader(Pictures(path, job.fix), batch_size=8, num_workers=2)
    model = torch.nn.Linear(3, 1)
    for epoch in job.epochs():
        for x in loader:
            model(x.float().mean((1, 2))).mean().backward()
            time.sleep(0.05)
            if job.took(len(x)):
                break
