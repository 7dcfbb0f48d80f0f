"""Control: loss.item() in each step; the loader keeps up, the step is where the time is. Fix: a smaller step."""
import time

import torch
from torch.utils.data import DataLoader, TensorDataset

from job import Job

if __name__ == "__main__":
    job = Job()
    loader = DataLoader(TensorDataset(torch.randn(50000, 64), torch.randint(0, 4, (50000,))), batch_size=16, shuffle=True, num_workers=1)
    model = torch.nn.Linear(64, 4)
    total = 0.0
    for epoch in job.epochs():
        for x, y in loader:
            loss = torch.nn.functional.cross_entropy(model(x), y)
            loss.backward()
            time.sleep(0.005 if job.fix else 0.02)
            total += loss.item()
            if job.took(len(y)):
                break
