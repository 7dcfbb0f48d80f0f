"""Each sample writes a debug line, which is flushed and synced. Fix: the level is INFO."""
import logging
import os
import time

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

from job import Job

log = logging.getLogger("data")


class Synced(logging.FileHandler):
    def emit(self, record):
        super().emit(record)
        os.fsync(self.stream.fileno())


class Tiles(Dataset):
    def __init__(self):
        self.tiles = np.random.default_rng(2).integers(0, 255, (64, 96, 96, 3), dtype=np.uint8)

    def __len__(self):
        return 2000

    def __getitem__(self, i):
        tile = self.tiles[i % 64]
        log.debug("tile %d: mean %.2f, std %.2f", i, tile.mean(), tile.std())
        return torch.from_numpy(tile).permute(2, 0, 1).float() / 255


if __name__ == "__main__":
    job = Job()
    os.makedirs(job.dir, exist_ok=True)
    log.addHandler(Synced(os.path.join(job.dir, "debug.log")))
    log.setLevel(logging.INFO if job.fix else logging.DEBUG)
    loader = DataLoader(Tiles(), batch_size=16, shuffle=True, num_workers=2)
    for epoch in job.epochs():
        for x in loader:
            x.mean().item()
            time.sleep(0.006)
            if job.took(len(x)):
                break
