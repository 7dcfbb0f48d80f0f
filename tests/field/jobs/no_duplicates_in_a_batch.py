"""A batch sampler of the job's own goes over what is left of the epoch for each batch, and makes the list of it again. Fix: a place in the list."""
import time

import torch
from torch.utils.data import DataLoader, Dataset

from job import Job


class Pairs(Dataset):
    def __len__(self):
        return 60000

    def text(self, i):
        return f"question {i * 7919 % 30011}"

    def __getitem__(self, i):
        codes = [ord(c) for c in self.text(i)]
        return torch.tensor(codes + [0] * (20 - len(codes)))


class NoDuplicates:
    def __init__(self, data, batch_size, once):
        self.data, self.batch_size, self.once = data, batch_size, once

    def __iter__(self):
        left, at = torch.randperm(len(self.data)).tolist(), 0
        while len(left) - at >= self.batch_size:
            texts, batch = set(), []
            for i in left[at:at + 4 * self.batch_size] if self.once else left:
                if self.data.text(i) not in texts:
                    texts.add(self.data.text(i))
                    batch.append(i)
                    if len(batch) == self.batch_size:
                        break
            yield batch
            if self.once:
                at += self.batch_size
            else:
                left = [i for i in left if i not in batch]

    def __len__(self):
        return len(self.data) // self.batch_size


if __name__ == "__main__":
    job = Job()
    data = Pairs()
    loader = DataLoader(data, batch_sampler=NoDuplicates(data, 24, job.fix), num_workers=2)
    model = torch.nn.EmbeddingBag(128, 32)
    for epoch in job.epochs():
        for x in loader:
            model(x).square().mean().backward()
            time.sleep(0.006)
            if job.took(len(x)):
                break
