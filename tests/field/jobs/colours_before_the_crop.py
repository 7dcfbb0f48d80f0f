"""Hue, contrast and saturation are changed over the whole photograph, and then a tenth of it is cut out. Fix: the cut comes first."""
import time

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset
from torchvision.transforms import v2

from job import Job


class Photographs(Dataset):
    def __init__(self, transform):
        rng = np.random.default_rng(3)
        self.photographs = [torch.from_numpy(rng.integers(0, 255, (3, 480, 640), dtype=np.uint8)) for _ in range(24)]
        self.transform = transform

    def __len__(self):
        return 3000

    def __getitem__(self, i):
        return self.transform(self.photographs[i % len(self.photographs)])


def recipe(cut_first):
    cut = [v2.RandomCrop((160, 160))]
    colours = [v2.ColorJitter(brightness=0.3, contrast=0.3, saturation=0.3, hue=0.1)]
    steps = cut + colours if cut_first else colours + cut
    return v2.Compose([v2.RandomHorizontalFlip()] + steps + [v2.ToDtype(torch.float32, scale=True)])


if __name__ == "__main__":
    job = Job()
    loader = DataLoader(Photographs(recipe(job.fix)), batch_size=8, shuffle=True, num_workers=4 if job.knob == "workers" else 2)
    model = torch.nn.Conv2d(3, 4, 5, stride=4)
    for epoch in job.epochs():
        for x in loader:
            model(x).mean().backward()
            time.sleep(0.012)
            if job.took(len(x)):
                break
