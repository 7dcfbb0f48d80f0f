"""Each word of a text is looked up in a list, from its beginning. Fix: in a set."""
import random
import time

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

from job import Job


class Queries(Dataset):
    def __init__(self, as_set):
        draw = random.Random(4)
        known = [f"term{i}" for i in range(4000)]
        self.known = set(known) if as_set else known
        self.texts = [[f"term{draw.randrange(6000)}" for _ in range(60)] for _ in range(1000)]

    def __len__(self):
        return 4000

    def __getitem__(self, i):
        words = self.texts[i % 1000]
        kept = [hash(w) % 997 for w in words if w in self.known]
        return torch.from_numpy(np.array((kept + [0] * 60)[:60]))


if __name__ == "__main__":
    job = Job()
    loader = DataLoader(Queries(job.fix), batch_size=32, shuffle=True, num_workers=2, persistent_workers=True)
    model = torch.nn.EmbeddingBag(1000, 8)
    for epoch in job.epochs():
        for x in loader:
            model(x).mean().backward()
            time.sleep(0.006)
            if job.took(len(x)):
                break
