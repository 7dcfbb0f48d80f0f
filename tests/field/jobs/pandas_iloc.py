"""Customers in a DataFrame: a row of it for each sample. Fix: two arrays, made once."""
import time

import numpy as np
import pandas as pd
import torch
from torch.utils.data import DataLoader, Dataset

from job import Job


class Customers(Dataset):
    def __init__(self, table, columns, arrays):
        self.table, self.columns, self.arrays = table, columns, arrays
        if arrays:
            self.x = table[columns].to_numpy(np.float32)
            self.y = table["churned"].to_numpy(np.int64)

    def __len__(self):
        return len(self.table)

    def __getitem__(self, i):
        if self.arrays:
            return torch.from_numpy(self.x[i]), int(self.y[i])
        row = self.table.iloc[i]
        return torch.tensor(row[self.columns].to_numpy(dtype=np.float32)), int(row["churned"])


if __name__ == "__main__":
    job = Job()
    n = 200000 if job.fix else 5000
    columns = [f"spent_{m}" for m in range(36)]
    table = pd.DataFrame(np.random.default_rng(4).standard_normal((n, 36)), columns=columns)
    table["churned"] = np.arange(n) % 2
    table["town"] = [f"town {i % 50}" for i in range(n)]
    loader = DataLoader(Customers(table, columns, job.fix), batch_size=128, shuffle=True, num_workers=2)
    model = torch.nn.Linear(36, 2)
    for epoch in job.epochs():
        for x, y in loader:
            torch.nn.functional.cross_entropy(model(x), y).backward()
            time.sleep(0.01)
            if job.took(len(y)):
                break
