"""The rows of one patient's stay are found by comparing a column of the table for each sample. Fix: the table split by stay once."""
import time

import numpy as np
import pandas as pd
import torch
from torch.utils.data import DataLoader, Dataset

from job import Job


class Stays(Dataset):
    def __init__(self, once):
        rng = np.random.default_rng(4)
        self.table = pd.DataFrame(rng.normal(size=(400000, 8)).astype("f4"), columns=[f"lab{k}" for k in range(8)])
        self.table["stay"] = [f"s{k:05d}" for k in rng.integers(0, 8000, 400000)]
        self.stays = sorted(self.table["stay"].unique())
        self.of_stay = {k: g.to_numpy() for k, g in self.table.set_index("stay").groupby(level=0)} if once else None

    def __len__(self):
        return len(self.stays)

    def window(self, stay):
        if self.of_stay:
            return self.of_stay[stay]
        return self.table[self.table["stay"] == stay].drop(columns="stay").to_numpy()

    def __getitem__(self, i):
        rows = self.window(self.stays[i])[:48]
        padded = np.zeros((48, 8), np.float32)
        padded[:len(rows)] = rows
        return torch.from_numpy(padded), i % 2


if __name__ == "__main__":
    job = Job()
    loader = DataLoader(Stays(job.fix), batch_size=16, shuffle=True, num_workers=2)
    model = torch.nn.Linear(8, 2)
    for epoch in job.epochs():
        for x, y in loader:
            model(x.mean(1)).square().mean().backward()
            time.sleep(0.01)
            if job.took(len(y)):
                break
