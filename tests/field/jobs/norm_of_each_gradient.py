"""Control: the norm of each parameter's gradient is logged in each step, one .item() for each. Fix: one norm of all."""
import time

import torch
from torch.utils.data import DataLoader, TensorDataset

from job import Job

if __name__ == "__main__":
    job = Job()
    loader = DataLoader(TensorDataset(torch.randn(40000, 32), torch.randint(0, 4, (40000,))), batch_size=32, shuffle=True, num_workers=1)
    model = torch.nn.Sequential(*[torch.nn.Linear(32, 32) for _ in range(60)], torch.nn.Linear(32, 4))
    for epoch in job.epochs():
        for x, y in loader:
            torch.nn.functional.cross_entropy(model(x), y).backward()
            if job.fix:
                norms = torch.cat([p.grad.flatten() for p in model.parameters()]).norm()
            else:
                norms = {}
                for name, p in model.named_parameters():
                    norms[name] = p.grad.norm().item()
                    norms[name + "_hist"] = torch.histc(p.grad, 40).tolist()
            time.sleep(0.008)
            if job.took(len(y)):
                break
