"""Pictures of words are drawn for a text reader; each word loads its font again. Fix: a font of each size is kept."""
import functools
import random
import time

import numpy as np
import torch
from PIL import Image, ImageDraw, ImageFont
from torch.utils.data import DataLoader, Dataset

from job import Job

LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"


def font_of(size):
    return ImageFont.load_default(size)


class Words(Dataset):
    def __init__(self, keep):
        self.font = functools.lru_cache(None)(font_of) if keep else font_of

    def __len__(self):
        return 20000

    def __getitem__(self, i):
        word = "".join(random.choices(LETTERS, k=random.randint(3, 9)))
        page = Image.new("L", (128, 32), 255)
        ImageDraw.Draw(page).text((4, 2), word, fill=0, font=self.font(random.randint(16, 24)))
        return torch.from_numpy(np.asarray(page, np.float32) / 255), len(word)


if __name__ == "__main__":
    job = Job()
    loader = DataLoader(Words(job.fix), batch_size=64, num_workers=4 if job.knob == "workers" else 2,
                        prefetch_factor=8 if job.knob == "prefetch" else 2)
    model = torch.nn.Linear(128 * 32, 10)
    for epoch in job.epochs():
        for x, y in loader:
            torch.nn.functional.cross_entropy(model(x.flatten(1)), y).backward()
            time.sleep(0.012)
            if job.took(len(y)):
                break
