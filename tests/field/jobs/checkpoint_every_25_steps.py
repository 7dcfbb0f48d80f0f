"""Control: a checkpoint is written and synced every 25 steps. Fix: every 500 steps."""
import os
import time

import torch
from torch.utils.data import DataLoader, TensorDataset

from job import Job

if __name__ == "__main__":
    job = Job()
    loader = DataLoader(TensorDataset(torch.randn(40000, 128), torch.randint(0, 4, (40000,))), batch_size=16, shuffle=True, num_workers=1)
    model = torch.nn.Sequential(torch.nn.Linear(128, 24000), torch.nn.ReLU(), torch.nn.Linear(24000, 4))
    os.makedirs(job.dir, exist_ok=True)
    steps = 0
    for epoch in job.epochs():
        for x, y in loader:
            torch.nn.functional.cross_entropy(model(x), y)
            time.sleep(0.012)
            steps += 1
            if steps % (500 if job.fix else 25) == 0:
                with open(f"{job.dir}/checkpoint.pt", "wb") as f:
                    torch.save(model.state_dict(), f)
                    f.flush()
                    os.fsync(f.fileno())
                    time.sleep(0.15)  # the upload that follows
            if job.took(len(y)):
                break
