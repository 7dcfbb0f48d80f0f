"""shuffle=True over 8 million rows, and an epoch is 80 batches: the whole order is drawn for each. Fix: draw as many as are used."""
import itertools
import time

import torch
from torch.utils.data import DataLoader, Dataset, RandomSampler

from job import Job


class Pairs(Dataset):
    def __len__(self):
        return 8000000

    def __getitem__(self, i):
        return torch.full((16,), float(i % 13)), i % 2


if __name__ == "__main__":
    job = Job()
    data = Pairs()
    sampler = RandomSampler(data, replacement=True, num_samples=80 * 32) if job.fix else RandomSampler(data)
    loader = DataLoader(data, batch_size=32, sampler=sampler, num_workers=2, persistent_workers=job.knob == "persistent")
    model = torch.nn.Linear(16, 2)
    for epoch in job.epochs():
        for x, y in itertools.islice(loader, 80):
            torch.nn.functional.cross_entropy(model(x), y).backward()
            time.sleep(0.006)
            if job.took(len(y)):
                break
