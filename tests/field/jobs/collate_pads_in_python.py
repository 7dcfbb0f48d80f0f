"""A collate_fn that pads lists token by token. Fix: it copies arrays into one tensor."""
import time

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

from job import Job


class Sentences(Dataset):
    def __init__(self):
        draw = np.random.default_rng(0)
        self.rows = [draw.integers(0, 900, draw.integers(100, 700)) for _ in range(2000)]
        self.lists = [r.tolist() for r in self.rows]

    def __len__(self):
        return 2000

    def __getitem__(self, i):
        return i


class Pad:
    def __init__(self, data, arrays):
        self.data, self.arrays = data, arrays

    def __call__(self, batch):
        longest = max(len(self.data.lists[i]) for i in batch)
        if self.arrays:
            ids = torch.zeros(len(batch), longest, dtype=torch.int64)
            for row, i in enumerate(batch):
                ids[row, :len(self.data.rows[i])] = torch.from_numpy(self.data.rows[i])
            return ids, (ids != 0).long()
        ids, mask = [], []
        for i in batch:
            tokens = self.data.lists[i]
            ids.append([tokens[k] if k < len(tokens) else 0 for k in range(longest)])
            mask.append([1 if t != 0 else 0 for t in ids[-1]])
        return torch.tensor(ids), torch.tensor(mask)


if __name__ == "__main__":
    job = Job()
    data = Sentences()
    loader = DataLoader(data, batch_size=64, shuffle=True, num_workers=2, collate_fn=Pad(data, job.fix), persistent_workers=True)
    model = torch.nn.Embedding(900, 8)
    for epoch in job.epochs():
        for ids, mask in loader:
            (model(ids).sum(2) * mask).mean().backward()
            time.sleep(0.005)
            if job.took(len(ids)):
                break
