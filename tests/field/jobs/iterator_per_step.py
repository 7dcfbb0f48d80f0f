"""next(iter(loader)) in every step: two workers are started for each batch. Fix: one iterator, begun again at its end."""
import time

import torch
from torch.utils.data import DataLoader, TensorDataset

from job import Job

if __name__ == "__main__":
    job = Job()
    data = TensorDataset(torch.randn(20000, 64), torch.randint(0, 4, (20000,)))
    loader = DataLoader(data, batch_size=64, shuffle=True, num_workers=2)
    model = torch.nn.Linear(64, 4)
    batches = iter(())
    for epoch in job.epochs():
        for step in range(50):
            if job.fix:
                try:
                    x, y = next(batches)
                except StopIteration:
                    batches = iter(loader)
                    x, y = next(batches)
            else:
                x, y = next(iter(loader))
            torch.nn.functional.cross_entropy(model(x), y).backward()
            time.sleep(0.005)
            if job.took(len(y)):
                break
