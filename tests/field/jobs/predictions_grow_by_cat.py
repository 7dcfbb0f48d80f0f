"""Control: a metric keeps all predictions of the epoch in one tensor, which torch.cat copies in each step. Fix: a list."""
import time

import torch
from torch.utils.data import DataLoader, TensorDataset

from job import Job

if __name__ == "__main__":
    job = Job()
    loader = DataLoader(TensorDataset(torch.randn(200000, 16), torch.randint(0, 4, (200000,))), batch_size=32, shuffle=True, num_workers=1)
    model = torch.nn.Linear(16, 512)
    for epoch in job.epochs():
        kept, predictions = [], torch.zeros(3000, 512)
        for x, y in loader:
            with torch.no_grad():
                out = model(x)
            if job.fix:
                kept.append(out)
            else:
                predictions = torch.cat([predictions, out])
            time.sleep(0.008)
            if job.took(len(y)):
                break
