"""A run that goes on where it was stopped draws the batches of before and throws them away. Fix: the sampler skips them."""
import time

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

from job import Job

DONE, BATCH = 300, 32


class Spectra(Dataset):
    def __len__(self):
        return 64000

    def __getitem__(self, i):
        wave = np.random.default_rng(i).standard_normal(24000)
        return torch.from_numpy(np.abs(np.fft.rfft(wave))[:256].astype(np.float32)), i % 5


if __name__ == "__main__":
    job = Job()
    order = torch.randperm(64000, generator=torch.Generator().manual_seed(6)).tolist()
    loader = DataLoader(Spectra(), batch_size=BATCH, sampler=order[DONE * BATCH:] if job.fix else order,
                        num_workers=2, prefetch_factor=8 if job.knob == "prefetch" else 2, persistent_workers=job.knob == "persistent")
    model = torch.nn.Linear(256, 5)
    for epoch in job.epochs():
        job.took(0)
        for k, (x, y) in enumerate(loader):
            if epoch == 0 and k < DONE and not job.fix:
                continue
            torch.nn.functional.cross_entropy(model(x), y).backward()
            time.sleep(0.03)
            if job.took(len(y)):
                break
