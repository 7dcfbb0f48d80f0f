"""A sampler groups texts by length; it asks the data set for each text's length at the start of each epoch. Fix: lengths are kept."""
import random
import time

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset, Sampler

from job import Job


class Sentences(Dataset):
    def __init__(self):
        draw = random.Random(3)
        self.texts = [" ".join(f"w{draw.randrange(900)}" for _ in range(draw.randrange(10, 90))) for _ in range(6000)]

    def __len__(self):
        return 6000

    def __getitem__(self, i):
        ids = [int(w[1:]) for w in self.texts[i].split()]
        return torch.from_numpy(np.array((ids + [0] * 90)[:90]))


class ByLength(Sampler):
    def __init__(self, data, keep):
        self.data, self.keep, self.lengths = data, keep, None

    def __len__(self):
        return len(self.data)

    def __iter__(self):
        if self.lengths is None or not self.keep:
            self.lengths = [int((self.data[i] != 0).sum()) for i in range(len(self.data))]
        order = torch.randperm(len(self.data)).tolist()
        for at in range(0, len(order), 512):
            yield from sorted(order[at:at + 512], key=self.lengths.__getitem__)


if __name__ == "__main__":
    job = Job()
    data = Sentences()
    loader = DataLoader(data, batch_size=64, sampler=ByLength(data, job.fix), num_workers=2, persistent_workers=True)
    model = torch.nn.EmbeddingBag(900, 8)
    for epoch in job.epochs():
        for x in loader:
            model(x).mean().backward()
            time.sleep(0.006)
            if job.took(len(x)):
                break
