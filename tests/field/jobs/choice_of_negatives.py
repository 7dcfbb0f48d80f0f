"""Eight negatives for each pair by np.random.choice(replace=False), which shuffles the whole catalogue. Fix: random integers."""
import time

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

from job import Job


class Purchases(Dataset):
    def __init__(self, cheap):
        self.cheap = cheap

    def __len__(self):
        return 100000

    def __getitem__(self, i):
        if self.cheap:
            negatives = np.random.randint(0, 60000, 8)
        else:
            negatives = np.random.choice(60000, 8, replace=False)
        return torch.tensor([i % 60000]), torch.from_numpy(negatives)


if __name__ == "__main__":
    job = Job()
    loader = DataLoader(Purchases(job.fix), batch_size=64, shuffle=True, num_workers=2)
    items = torch.nn.Embedding(60000, 8, sparse=True)
    for epoch in job.epochs():
        for bought, negatives in loader:
            (items(bought) * items(negatives)).sum().backward()
            items.zero_grad()
            time.sleep(0.008)
            if job.took(len(bought)):
                break
