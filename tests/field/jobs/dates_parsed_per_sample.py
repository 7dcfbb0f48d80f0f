"""Purchases of a customer come as text, and their dates are parsed whenever the customer is drawn. Fix: parsed once."""
import random
import time
from datetime import datetime

import torch
from torch.utils.data import DataLoader, Dataset

from job import Job

START = datetime(2019, 1, 1)


class Customers(Dataset):
    def __init__(self, once):
        rng = random.Random(5)
        self.visits = [[f"20{rng.randint(19, 23)}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02} {rng.randint(0, 23):02}:15:00" for _ in range(60)] for _ in range(2000)]
        self.days = [self.parsed(v) for v in self.visits] if once else None

    def parsed(self, visits):
        return [(datetime.strptime(v, "%Y-%m-%d %H:%M:%S") - START).days for v in visits]

    def __len__(self):
        return 2000

    def __getitem__(self, i):
        days = self.days[i] if self.days else self.parsed(self.visits[i])
        return torch.tensor(days, dtype=torch.float32), i % 2


if __name__ == "__main__":
    job = Job()
    loader = DataLoader(Customers(job.fix), batch_size=32, shuffle=True, num_workers=4 if job.knob == "workers" else 2)
    model = torch.nn.Linear(60, 2)
    for epoch in job.epochs():
        for x, y in loader:
            torch.nn.functional.cross_entropy(model(x / 1000), y).backward()
            time.sleep(0.004)
            if job.took(len(y)):
                break
