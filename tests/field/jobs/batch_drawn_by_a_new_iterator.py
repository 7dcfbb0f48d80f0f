"""A helper draws one batch of examples with next(iter(loader)) whenever it is asked. Fix: the helper keeps its iterator."""
import time

import torch
from torch.utils.data import DataLoader, Dataset

from job import Job


class Sprites(Dataset):
    def __len__(self):
        return 30000

    def __getitem__(self, i):
        return torch.full((1, 32, 32), float(i % 11))


class Source:
    def __init__(self, loader, keeps):
        self.loader, self.keeps, self.kept = loader, keeps, None

    def batch(self):
        if not self.keeps:
            return next(iter(self.loader))
        for _ in range(2):
            self.kept = self.kept or iter(self.loader)
            x = next(self.kept, None)
            if x is not None:
                return x
            self.kept = None


if __name__ == "__main__":
    job = Job()
    source = Source(DataLoader(Sprites(), batch_size=32, shuffle=True, num_workers=1), job.fix)
    model = torch.nn.Linear(1024, 6)
    for epoch in job.epochs():
        for step in range(40):
            x = source.batch()
            model(x.flatten(1)).var().backward()
            time.sleep(0.005)
            if job.took(len(x)):
                break
