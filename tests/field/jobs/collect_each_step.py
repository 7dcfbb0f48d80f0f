"""Control: each step calls gc.collect(), beside many Python objects. Fix: leave that to Python."""
import gc
import time

import torch
from torch.utils.data import DataLoader, Dataset

from job import Job


class Pairs(Dataset):
    def __init__(self):
        self.rows = [{"id": i, "ask": [i % 97, i % 89], "tell": [i % 83]} for i in range(150000)]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        row = self.rows[i]
        return torch.tensor([row["id"] % 512, *row["ask"], *row["tell"]])


if __name__ == "__main__":
    job = Job()
    loader = DataLoader(Pairs(), batch_size=16, shuffle=True, num_workers={"workers": 4, "none": 0}.get(job.knob, 1))
    model = torch.nn.EmbeddingBag(512, 32)
    for epoch in job.epochs():
        for x in loader:
            model(x).square().mean().backward()
            time.sleep(0.02)
            if not job.fix:
                gc.collect()
            if job.took(len(x)):
                break
