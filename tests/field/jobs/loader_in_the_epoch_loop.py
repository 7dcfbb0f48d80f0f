"""The training loop makes its DataLoader in every epoch, of 24 batches. Fix: one loader before the loop, whose workers stay."""
import time

import torch
from torch.utils.data import DataLoader, Dataset

from job import Job


class Letters(Dataset):
    def __init__(self):
        self.text = torch.randint(0, 80, (200000,))

    def __len__(self):
        return 1536

    def __getitem__(self, i):
        return self.text[i * 97:i * 97 + 128], self.text[i * 97 + 1:i * 97 + 129]


def make(data, keep):
    return DataLoader(data, batch_size=64, shuffle=True, num_workers=2, persistent_workers=keep)


if __name__ == "__main__":
    job = Job()
    data = Letters()
    kept = make(data, True) if job.fix else None
    model = torch.nn.Embedding(80, 80)
    for epoch in job.epochs():
        for x, y in kept or make(data, False):
            torch.nn.functional.cross_entropy(model(x).flatten(0, 1), y.flatten()).backward()
            time.sleep(0.004)
            if job.took(len(y)):
                break
