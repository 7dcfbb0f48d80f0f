"""JPEG of 12 megapixels decoded in full for 224 pixels. Fix: smaller files, made once."""
import os
import time

import numpy as np
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset

from job import Job


def photos(path):
    os.makedirs(path)
    for i in range(24):
        small = np.random.default_rng(i).integers(0, 255, (60, 80, 3), dtype=np.uint8)
        image = Image.fromarray(small).resize((2400, 1800), Image.BICUBIC)
        image.save(f"{path}/{i}.jpg", quality=88)
        image.resize((256, 256)).save(f"{path}/{i}-small.jpg", quality=92)


class Photos(Dataset):
    def __init__(self, path, ending):
        self.path, self.ending = path, ending

    def __len__(self):
        return 960

    def __getitem__(self, i):
        with Image.open(f"{self.path}/{i % 24}{self.ending}.jpg") as image:
            image = image.convert("RGB").resize((224, 224))
        return torch.from_numpy(np.array(image)), i % 7


if __name__ == "__main__":
    job = Job()
    path = job.data("photos", photos)
    loader = DataLoader(Photos(path, "-small" if job.fix else ""), batch_size=8, shuffle=True, num_workers=2)
    model = torch.nn.Linear(3, 7)
    for epoch in job.epochs():
        for x, y in loader:
            torch.nn.functional.cross_entropy(model(x.float().mean((1, 2))), y).backward()
            time.sleep(0.02)
            if job.took(len(y)):
                break
