"""Five seconds are cut out of recordings of five minutes, each read from its beginning to its end for that. Fix: only the part is read."""
import os
import random
import time
import wave

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

from job import Job

RATE, CLIP = 16000, 5 * 16000


def make(path):
    os.makedirs(path)
    rng = np.random.default_rng(3)
    for i in range(6):
        with wave.open(os.path.join(path, f"forest{i}.wav"), "wb") as f:
            f.setparams((1, 2, RATE, 0, "NONE", ""))
            f.writeframes(rng.integers(-9000, 9000, 300 * RATE, dtype=np.int16).tobytes())


def load(path, start=0, count=-1):
    with wave.open(path) as f:
        f.setpos(start)
        frames = f.readframes(f.getnframes() - start if count < 0 else count)
    return np.frombuffer(frames, np.int16).astype(np.float32) / 32768


class Clips(Dataset):
    def __init__(self, folder, part):
        self.paths = sorted(os.path.join(folder, n) for n in os.listdir(folder))
        self.part = part

    def __len__(self):
        return 5000

    def __getitem__(self, i):
        path = self.paths[i % len(self.paths)]
        start = random.randrange(300 * RATE - CLIP)
        if self.part:
            return torch.from_numpy(load(path, start, CLIP))
        audio = load(path)
        return torch.from_numpy(audio[start:start + CLIP].copy())


if __name__ == "__main__":
    job = Job()
    loader = DataLoader(Clips(job.data("recordings", make), job.fix), batch_size=8, shuffle=True, num_workers=4 if job.knob == "workers" else 2)
    model = torch.nn.Conv1d(1, 4, 400, stride=160)
    for epoch in job.epochs():
        for x in loader:
            model(x[:, None]).mean().backward()
            time.sleep(0.010)
            if job.took(len(x)):
                break
