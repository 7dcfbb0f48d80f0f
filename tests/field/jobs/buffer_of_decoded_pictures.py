"""A stream is shuffled by a buffer of 600 pictures that are decoded already, and each epoch, of 640, begins by filling it. Fix: the buffer holds what is not decoded yet."""
import io
import itertools
import random
import time

import numpy as np
import torch
from PIL import Image
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

from job import Job


def jpegs(count):
    rng, out = np.random.default_rng(3), []
    for _ in range(count):
        buffer = io.BytesIO()
        Image.fromarray(rng.integers(0, 255, (36, 36, 3), dtype=np.uint8)).resize((320, 320), Image.BICUBIC).save(buffer, "JPEG", quality=90)
        out.append(buffer.getvalue())
    return out


def shuffled(items, room, seed):
    draw, held = random.Random(seed), list(itertools.islice(items, room))
    for item in items:
        at = draw.randrange(room)
        held[at], item = item, held[at]
        yield item


class Pictures(IterableDataset):
    def __init__(self, records, decode_last):
        self.records, self.decode_last = records, decode_last

    def decode(self, record):
        return torch.from_numpy(np.asarray(Image.open(io.BytesIO(record)).convert("RGB").resize((64, 64))).copy())

    def __iter__(self):
        info = get_worker_info()
        records = itertools.cycle(self.records[info.id::info.num_workers])
        if self.decode_last:
            stream = map(self.decode, shuffled(records, 600, info.seed))
        else:
            stream = shuffled(map(self.decode, records), 600, info.seed)
        return itertools.islice(stream, 640 // info.num_workers)


if __name__ == "__main__":
    job = Job()
    depth = 8 if job.knob == "prefetch" else 2
    loader = DataLoader(Pictures(jpegs(200), job.fix), batch_size=16, num_workers=2, prefetch_factor=depth, persistent_workers=True)
    model = torch.nn.Linear(3, 4)
    for epoch in job.epochs():
        for x in loader:
            model(x.float().mean((1, 2))).mean().backward()
            time.sleep(0.005)
            if job.took(len(x)):
                break
