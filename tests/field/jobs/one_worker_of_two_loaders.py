"""Two loaders with one worker each; the loop waits for the labelled one. Fix: num_workers=2 for it."""
import time

import torch
from torch.utils.data import DataLoader, Dataset

from job import Job


class Blurred(Dataset):
    def __init__(self, rounds):
        self.rounds = rounds

    def __len__(self):
        return 1000000

    def __getitem__(self, i):
        x = torch.full((3, 96, 96), float(i % 7))
        for _ in range(self.rounds):
            x = torch.nn.functional.avg_pool2d(x[None], 5, 1, 2)[0]
        return x


if __name__ == "__main__":
    job = Job()
    labelled = DataLoader(Blurred(12), batch_size=16, num_workers=2 if job.fix else 1)
    unlabelled = DataLoader(Blurred(4), batch_size=4, num_workers=1)
    model = torch.nn.Linear(3, 1)
    extra = None
    for epoch in job.epochs():
        extra = extra or iter(unlabelled)
        for step, x in enumerate(labelled):
            model(x.mean((2, 3))).mean().backward()
            if step % 8 == 0:
                model(next(extra).mean((2, 3))).mean().backward()
            time.sleep(0.005)
            if job.took(len(x)):
                break
