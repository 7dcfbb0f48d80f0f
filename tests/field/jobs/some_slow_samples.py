"""One clip in 120 takes half a second to fetch, and all finished batches wait behind it. Fix: in_order=False."""
import time

import torch
from torch.utils.data import DataLoader, Dataset

from job import Job


class Clips(Dataset):
    def __len__(self):
        return 100000

    def __getitem__(self, i):
        time.sleep(0.5 if i % 120 == 7 else 0.002)
        return torch.full((64,), float(i % 9))


if __name__ == "__main__":
    job = Job()
    options = {"in_order": False} if job.fix else {"prefetch_factor": 16} if job.knob == "prefetch" else {}
    loader = DataLoader(Clips(), batch_size=8, num_workers=4, shuffle=True, **options)
    model = torch.nn.Linear(64, 2)
    for epoch in job.epochs():
        for x in loader:
            model(x).mean().backward()
            time.sleep(0.012)
            if job.took(len(x)):
                break
