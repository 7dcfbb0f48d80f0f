"""Control: the averaged model is a deepcopy made in each step. Fix: updated in place."""
import copy
import time

import torch
from torch.utils.data import DataLoader, TensorDataset

from job import Job

if __name__ == "__main__":
    job = Job()
    loader = DataLoader(TensorDataset(torch.randn(60000, 64), torch.randint(0, 4, (60000,))), batch_size=16, shuffle=True, num_workers=1)
    model = torch.nn.Sequential(*[torch.nn.Linear(64, 64) for _ in range(120)], torch.nn.Linear(64, 4))
    average = copy.deepcopy(model)
    for epoch in job.epochs():
        for x, y in loader:
            with torch.no_grad():
                torch.nn.functional.cross_entropy(model(x), y)
                if job.fix:
                    torch._foreach_lerp_(list(average.parameters()), list(model.parameters()), 0.01)
                else:
                    average = copy.deepcopy(average)
                    for a, b in zip(average.parameters(), model.parameters()):
                        a.copy_(a * 0.99 + b * 0.01)
            time.sleep(0.004)
            if job.took(len(y)):
                break
