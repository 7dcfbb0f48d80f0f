"""Control: the optimizer steps every eighth batch and takes 0.1 s; the loader keeps up. Fix: every 32nd."""
import time

import torch
from torch.utils.data import DataLoader, TensorDataset

from job import Job

if __name__ == "__main__":
    job = Job()
    loader = DataLoader(TensorDataset(torch.randn(30000, 80), torch.randint(0, 5, (30000,))), batch_size=16, shuffle=True, num_workers=1)
    model = torch.nn.Linear(80, 5)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    batches = 0
    for epoch in job.epochs():
        for x, y in loader:
            torch.nn.functional.cross_entropy(model(x), y).backward()
            time.sleep(0.012)
            batches += 1
            if batches % (32 if job.fix else 8) == 0:
                opt.step()
                opt.zero_grad()
                time.sleep(0.1)
            if job.took(len(y)):
                break
