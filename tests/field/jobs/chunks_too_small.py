"""Weather maps in zarr, whose chunks are tiles of 32 by 32: a map is put together from 64 of them, in as many files. Fix: a chunk per map."""
import time

import numpy as np
import torch
import zarr
from torch.utils.data import DataLoader, Dataset

from job import Job

MAPS, SIDE = 120, 256


def writer(tile):
    def write(path):
        rng = np.random.default_rng(9)
        maps = zarr.create_array(store=path, shape=(MAPS, SIDE, SIDE), chunks=(1, tile, tile), dtype="float32")
        for k in range(MAPS):
            maps[k] = np.cumsum(rng.integers(-2, 3, (SIDE, SIDE)), 1).astype(np.float32)
    return write


class Maps(Dataset):
    def __init__(self, path):
        self.path, self.maps = path, None

    def __len__(self):
        return 2400

    def __getitem__(self, i):
        if self.maps is None:
            self.maps = zarr.open_array(self.path, mode="r")
        return torch.from_numpy(self.maps[i % MAPS])


if __name__ == "__main__":
    job = Job()
    tiled = job.data("maps-tiles.zarr", writer(32))
    whole = job.data("maps-whole.zarr", writer(SIDE))
    loader = DataLoader(Maps(whole if job.fix else tiled), batch_size=4, shuffle=True, num_workers=4 if job.knob == "workers" else 2, persistent_workers=True)
    model = torch.nn.Conv2d(1, 4, 8, stride=8)
    for epoch in job.epochs():
        for x in loader:
            model(x[:, None]).square().mean().backward()
            time.sleep(0.01)
            if job.took(len(x)):
                break
