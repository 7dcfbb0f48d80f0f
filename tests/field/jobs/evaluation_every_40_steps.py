"""Control: every 40 steps the model is evaluated on tensors at hand for a third of a second. Fix: every 400 steps."""
import time

import torch
from torch.utils.data import DataLoader, TensorDataset

from job import Job

if __name__ == "__main__":
    job = Job()
    loader = DataLoader(TensorDataset(torch.randn(40000, 48), torch.randint(0, 3, (40000,))), batch_size=16, shuffle=True, num_workers=1)
    held_out = torch.randn(4000, 48)
    model = torch.nn.Linear(48, 3)
    steps = 0
    for epoch in job.epochs():
        for x, y in loader:
            torch.nn.functional.cross_entropy(model(x), y).backward()
            time.sleep(0.012)
            steps += 1
            if steps % (400 if job.fix else 40) == 0:
                with torch.no_grad():
                    for part in held_out.split(400):
                        model(part)
                        time.sleep(0.03)
            if job.took(len(y)):
                break
