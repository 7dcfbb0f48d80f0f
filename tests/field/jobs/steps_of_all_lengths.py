"""Control: batches of neighbours in length; a step takes as long as its sentences are long, so the device is busy unevenly. Nothing is to be fixed."""
import random
import time

import torch
from torch.utils.data import DataLoader, Dataset

from job import Job


class Sentences(Dataset):
    def __init__(self):
        rng = random.Random(5)
        self.lengths = sorted(min(int(rng.lognormvariate(3.6, 0.7)) + 3, 400) for _ in range(6000))

    def __len__(self):
        return len(self.lengths)

    def __getitem__(self, i):
        return torch.full((self.lengths[i],), i % 1000)


class Neighbours:
    def __init__(self, count, size):
        self.batches = [list(range(i, min(i + size, count))) for i in range(0, count, size)]

    def __iter__(self):
        random.shuffle(self.batches)
        return iter(self.batches)

    def __len__(self):
        return len(self.batches)


def padded(batch):
    return torch.nn.utils.rnn.pad_sequence(batch, batch_first=True)


if __name__ == "__main__":
    job = Job()
    data = Sentences()
    loader = DataLoader(data, batch_sampler=Neighbours(len(data), 32), collate_fn=padded, num_workers={"workers": 4, "none": 0}.get(job.knob, 2))
    model = torch.nn.EmbeddingBag(1000, 16)
    for epoch in job.epochs():
        for x in loader:
            model(x).mean().backward()
            time.sleep(0.004 + x.shape[1] * 0.0004)
            if job.took(len(x)):
                break
