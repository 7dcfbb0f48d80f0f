"""collate_fn=list hands over Python objects with lists of boxes, which are pickled. Fix: boxes as one array per batch."""
import random
import time

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

from job import Job


class Scene:
    def __init__(self, seed):
        draw = random.Random(seed)
        self.boxes = [{"box": [draw.random() for _ in range(4)], "label": draw.randrange(9), "score": draw.random()} for _ in range(120)]


class Scenes(Dataset):
    def __init__(self):
        self.scenes = [Scene(i) for i in range(200)]

    def __len__(self):
        return 4000

    def __getitem__(self, i):
        return self.scenes[i % 200]


def as_array(scenes):
    return torch.from_numpy(np.array([[b["box"] for b in s.boxes] for s in scenes]))


if __name__ == "__main__":
    job = Job()
    workers = 0 if job.knob == "workers" else 2
    loader = DataLoader(Scenes(), batch_size=32, shuffle=True, num_workers=workers, persistent_workers=workers > 0, collate_fn=as_array if job.fix else list)
    for epoch in job.epochs():
        for batch in loader:
            x = batch if job.fix else batch[0].boxes[0]["box"]
            time.sleep(0.004)
            if job.took(32):
                break
