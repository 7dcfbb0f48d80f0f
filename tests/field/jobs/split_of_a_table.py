"""random_split of a TensorDataset, row by row. Fix: a BatchSampler as the sampler, so that the parts are indexed once a batch."""
import torch
from torch.utils.data import BatchSampler, DataLoader, RandomSampler, TensorDataset, random_split

from job import Job

if __name__ == "__main__":
    job = Job()
    data = TensorDataset(torch.randn(200000, 40), torch.randint(0, 5, (200000,)))
    train, valid = random_split(data, [160000, 40000])
    if job.fix:
        loader = DataLoader(train, sampler=BatchSampler(RandomSampler(train), 1024, False), batch_size=None)
    else:
        loader = DataLoader(train, batch_size=1024, shuffle=True)
    model = torch.nn.Linear(40, 5)
    for epoch in job.epochs():
        for x, y in loader:
            torch.nn.functional.cross_entropy(model(x), y).backward()
            if job.took(len(y)):
                break
