"""DistributedSampler without set_epoch: every epoch has the order of the first. Fix: set_epoch."""
import time

import torch
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

from job import Job

if __name__ == "__main__":
    job = Job()
    data = TensorDataset(torch.randn(6000, 20), torch.randint(0, 2, (6000,)))
    sampler = DistributedSampler(data, num_replicas=2, rank=0, shuffle=True)
    loader = DataLoader(data, batch_size=32, sampler=sampler, num_workers=1)
    model = torch.nn.Linear(20, 2)
    for epoch in job.epochs():
        if job.fix:
            sampler.set_epoch(epoch)
        for x, y in loader:
            torch.nn.functional.cross_entropy(model(x), y).backward()
            time.sleep(0.012)
            if job.took(len(y)):
                break
