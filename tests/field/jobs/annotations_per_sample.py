"""The file of all annotations is parsed in __getitem__, for the boxes of one picture. Fix: parsed once, in the constructor."""
import json
import random
import time

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

from job import Job


def make(path):
    draw = random.Random(5)
    rows = [{"image_id": i % 700, "bbox": [round(draw.random() * 500, 2) for _ in range(4)], "category_id": draw.randrange(80)} for i in range(6000)]
    with open(path, "w") as f:
        json.dump({"annotations": rows}, f)


class Objects(Dataset):
    def __init__(self, path, once):
        self.path = path
        self.by_image = self.load() if once else None

    def load(self):
        by_image = {}
        with open(self.path) as f:
            for row in json.load(f)["annotations"]:
                by_image.setdefault(row["image_id"], []).append(row["bbox"])
        return by_image

    def __len__(self):
        return 700

    def __getitem__(self, i):
        boxes = (self.by_image or self.load())[i]
        return torch.from_numpy(np.array(boxes[:8], np.float32))


if __name__ == "__main__":
    job = Job()
    path = job.data("instances.json", make)
    data = None if job.preparing else Objects(path, job.fix)
    loader = DataLoader(data or [0], batch_size=16, shuffle=True, num_workers=2, persistent_workers=True)
    model = torch.nn.Linear(4, 4)
    for epoch in job.epochs():
        for x in loader:
            model(x).mean().backward()
            time.sleep(0.006)
            if job.took(len(x)):
                break
