"""Control: windows of a mapped token file, which a worker reads faster than steps use them. Fix: a faster device."""
import time

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

from job import Job


def tokens(path):
    np.random.default_rng(0).integers(0, 30000, 4000000, dtype=np.uint16).tofile(path)


class Windows(Dataset):
    def __init__(self, path):
        self.tokens = np.memmap(path, np.uint16, "r")

    def __len__(self):
        return 15000

    def __getitem__(self, i):
        return torch.from_numpy(self.tokens[i * 256:(i + 1) * 256].astype(np.int64))


if __name__ == "__main__":
    job = Job()
    path = job.data("tokens.bin", tokens)
    loader = DataLoader(Windows(path), batch_size=8, shuffle=True, num_workers=1)
    model = torch.nn.Embedding(30000, 8, sparse=True)
    for epoch in job.epochs():
        for x in loader:
            model(x).mean().backward()
            model.zero_grad()
            time.sleep(0.008 if job.fix else 0.025)
            if job.took(len(x)):
                break
