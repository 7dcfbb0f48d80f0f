"""Many small TensorDatasets in a ConcatDataset, asked row by row. Fix: one TensorDataset of all, asked by batch."""
import torch
from torch.utils.data import BatchSampler, ConcatDataset, DataLoader, RandomSampler, TensorDataset

from job import Job

if __name__ == "__main__":
    job = Job()
    parts = [(torch.randn(500, 30), torch.rand(500, 1)) for _ in range(200)]
    if job.fix:
        data = TensorDataset(torch.cat([x for x, _ in parts]), torch.cat([y for _, y in parts]))
        loader = DataLoader(data, sampler=BatchSampler(RandomSampler(data), 1000, False), batch_size=None)
    else:
        loader = DataLoader(ConcatDataset([TensorDataset(*p) for p in parts]), batch_size=1000, shuffle=True)
    model = torch.nn.Linear(30, 1)
    for epoch in job.epochs():
        for x, y in loader:
            (model(x) - y).square().mean().backward()
            if job.took(len(y)):
                break
