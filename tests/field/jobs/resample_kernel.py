"""Clips of 44.1 kHz are resampled to 16 kHz in __getitem__; the filter is computed for each clip. Fix: it is computed once."""
import math
import time

import torch
from torch.utils.data import DataLoader, Dataset

from job import Job


def sinc_kernel(orig, new, width=64):
    base = min(orig, new) * 0.99
    reach = math.ceil(width * orig / base)
    at = torch.arange(-reach, reach + orig, dtype=torch.float64)[None, None] / orig
    t = (torch.arange(0, -new, -1, dtype=torch.float64)[:, None, None] / new + at) * base
    t = t.clamp(-width, width)
    window = torch.cos(t * math.pi / width / 2) ** 2
    t = t * math.pi
    kernel = torch.where(t == 0, torch.ones_like(t), t.sin() / t) * window * base / orig
    return kernel.float(), reach


class Speech(Dataset):
    def __init__(self, once):
        self.clips = torch.randn(16, 44100)
        self.kernel = sinc_kernel(441, 160) if once else None

    def __len__(self):
        return 4000

    def __getitem__(self, i):
        wave = self.clips[i % 16]
        kernel, reach = self.kernel or sinc_kernel(441, 160)
        padded = torch.nn.functional.pad(wave, (reach, reach + 441))
        out = torch.nn.functional.conv1d(padded[None, None], kernel, stride=441)
        return out.transpose(1, 2).reshape(-1)[:16000]


if __name__ == "__main__":
    job = Job()
    loader = DataLoader(Speech(job.fix), batch_size=16, shuffle=True, num_workers=2)
    model = torch.nn.Linear(16000, 8)
    for epoch in job.epochs():
        for x in loader:
            model(x).mean().backward()
            time.sleep(0.004)
            if job.took(len(x)):
                break
