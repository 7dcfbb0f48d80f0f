"""Pictures have other numbers of boxes, and default_collate cannot stack them. Fix: a collate_fn that pads."""
import time

import torch
from torch.utils.data import DataLoader, Dataset

from job import Job


class Boxes(Dataset):
    def __len__(self):
        return 4000

    def __getitem__(self, i):
        return torch.rand(3, 16, 16), torch.rand(5 if i == 1900 else 4, 4)


def pad(batch):
    x = torch.stack([b[0] for b in batch])
    y = torch.zeros(len(batch), 8, 4)
    for i, b in enumerate(batch):
        y[i, :len(b[1])] = b[1]
    return x, y


if __name__ == "__main__":
    job = Job()
    loader = DataLoader(Boxes(), batch_size=16, num_workers=2, collate_fn=pad if job.fix else None)
    for epoch in job.epochs():
        for x, y in loader:
            time.sleep(0.02)
            if job.took(len(x)):
                break
