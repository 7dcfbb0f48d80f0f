"""A batch sampler that searches the list of what is left for samples of one shape, for each batch. Fix: a list for each shape, made once an epoch."""
import time

import torch
from torch.utils.data import DataLoader, Sampler, TensorDataset

from job import Job


class SameShape(Sampler):
    def __init__(self, shapes, size, buckets):
        self.shapes, self.size, self.buckets = shapes, size, buckets

    def __iter__(self):
        order = torch.randperm(len(self.shapes)).tolist()
        if self.buckets:
            held = {}
            for i in order:
                held.setdefault(self.shapes[i], []).append(i)
                if len(held[self.shapes[i]]) == self.size:
                    yield held.pop(self.shapes[i])
            return
        while order:
            wanted = self.shapes[order[0]]
            batch = [i for i in order if self.shapes[i] == wanted][: self.size]
            order = [i for i in order if i not in batch]
            yield batch

    def __len__(self):
        return len(self.shapes) // self.size


if __name__ == "__main__":
    job = Job()
    n = 20000
    data = TensorDataset(torch.randn(n, 64), torch.randint(0, 5, (n,)))
    shapes = torch.randint(0, 8, (n,)).tolist()
    loader = DataLoader(data, batch_sampler=SameShape(shapes, 16, job.fix), num_workers=1)
    model = torch.nn.Linear(64, 5)
    for epoch in job.epochs():
        for x, y in loader:
            torch.nn.functional.cross_entropy(model(x), y).backward()
            time.sleep(0.001)
            if job.took(len(y)):
                break
