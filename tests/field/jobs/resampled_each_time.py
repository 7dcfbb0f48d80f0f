"""Clips of 44.1 kHz are brought to 16 kHz in each epoch. Fix: once, before the training."""
import time

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

from job import Job


class Speech(Dataset):
    def __init__(self, before):
        self.clips = np.random.default_rng(3).standard_normal((24, 44100)).astype(np.float32)
        self.at = np.linspace(0, 44099, 16000)
        taps = np.arange(-32, 33)
        self.low = (np.sinc(taps * 16 / 44.1) * np.hamming(65)).astype(np.float32)
        self.ready = [self.resample(c) for c in self.clips] if before else None

    def __len__(self):
        return 960

    def resample(self, clip):
        smooth = np.convolve(clip, self.low, "same")
        return np.interp(self.at, np.arange(44100), smooth).astype(np.float32)

    def __getitem__(self, i):
        clip = self.ready[i % 24] if self.ready else self.resample(self.clips[i % 24])
        return torch.from_numpy(clip), i % 5


if __name__ == "__main__":
    job = Job()
    loader = DataLoader(Speech(job.fix), batch_size=16, shuffle=True, num_workers=2, persistent_workers=True)
    model = torch.nn.Linear(16000, 5)
    for epoch in job.epochs():
        for x, y in loader:
            torch.nn.functional.cross_entropy(model(x), y).backward()
            time.sleep(0.008)
            if job.took(len(y)):
                break
