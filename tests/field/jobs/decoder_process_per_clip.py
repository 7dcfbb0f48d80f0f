"""Clips are unpacked by a program that is started for each of them. Fix: unpack them in the worker."""
import glob
import gzip
import os
import subprocess
import time

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

from job import Job


def make(path):
    os.makedirs(path)
    rng = np.random.default_rng(3)
    for i in range(400):
        wave = (np.cumsum(rng.integers(-40, 41, 8000)) % 4096).astype(np.int16)
        with gzip.open(f"{path}/clip{i:03d}.pcm.gz", "wb", compresslevel=4) as f:
            f.write(wave.tobytes())


class Clips(Dataset):
    def __init__(self, path, inside):
        self.names, self.inside = sorted(glob.glob(path + "/*.gz")), inside

    def __len__(self):
        return 20 * len(self.names)

    def __getitem__(self, i):
        name = self.names[i % len(self.names)]
        if self.inside:
            raw = gzip.open(name).read()
        else:
            raw = subprocess.run(["gzip", "-dc", name], stdout=subprocess.PIPE, check=True).stdout
        return torch.from_numpy(np.frombuffer(raw, np.int16).astype(np.float32) / 4096)


if __name__ == "__main__":
    job = Job()
    clips = Clips(job.data("clips", make), job.fix)
    loader = DataLoader(clips, batch_size=32, shuffle=True, num_workers=4 if job.knob == "workers" else 2,
                        prefetch_factor=8 if job.knob == "prefetch" else 2, persistent_workers=job.knob == "persistent")
    model = torch.nn.Conv1d(1, 8, 64, 16)
    for epoch in job.epochs():
        for x in loader:
            model(x[:, None]).square().mean().backward()
            time.sleep(0.01)
            if job.took(len(x)):
                break
