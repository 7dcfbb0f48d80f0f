"""Rows of an Arrow file, which the library maps, shuffled one by one on a slow file system. Fix: shuffled blocks of rows that stand side by side."""
import random
import time

import datasets
import numpy as np
import torch
from torch.utils.data import DataLoader

from job import Job

ROWS, BYTES, BLOCK = 1600, 128 << 10, 16


def rows(path):
    datasets.Dataset.from_dict({"row": [np.random.default_rng(i).bytes(BYTES) for i in range(ROWS)]}).save_to_disk(path)


def taken(batch):
    return torch.stack([torch.frombuffer(bytearray(x["row"]), dtype=torch.uint8).view(64, -1).float().mean(1) for x in batch])


class Blocks:
    def __iter__(self):
        for k in random.sample(range(ROWS // BLOCK), ROWS // BLOCK):
            yield list(range(k * BLOCK, (k + 1) * BLOCK))

    def __len__(self):
        return ROWS // BLOCK


if __name__ == "__main__":
    job = Job()
    data = datasets.load_from_disk(job.data("rows.arrow", rows)) if not job.preparing else job.data("rows.arrow", rows)
    workers = 6 if job.knob == "workers" else 2
    if job.fix:
        loader = DataLoader(data, batch_sampler=Blocks(), collate_fn=taken, num_workers=workers)
    else:
        loader = DataLoader(data, batch_size=BLOCK, shuffle=True, collate_fn=taken, num_workers=workers)
    model = torch.nn.Linear(64, 4)
    for epoch in job.epochs():
        for x in loader:
            model(x).mean().backward()
            time.sleep(0.03)
            if job.took(len(x)):
                break
