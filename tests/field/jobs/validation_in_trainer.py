"""Two workers decode for training, none for the validation that follows each epoch. Fix: num_workers=2 for that loader."""
import io
import time

import numpy as np
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset

from job import Job


class Faces(Dataset):
    def __init__(self, n):
        self.n, self.files = n, []
        for seed in range(8):
            file = io.BytesIO()
            Image.fromarray(np.random.default_rng(seed).integers(0, 255, (30, 40, 3), dtype=np.uint8)).resize((640, 480)).save(file, "JPEG")
            self.files.append(file.getvalue())

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        image = Image.open(io.BytesIO(self.files[i % 8])).convert("RGB").resize((192, 192))
        return torch.from_numpy(np.array(image)), i % 10


if __name__ == "__main__":
    job = Job()
    train = DataLoader(Faces(256), batch_size=16, shuffle=True, num_workers=2)
    val = DataLoader(Faces(256), batch_size=16, num_workers=2 if job.fix else 0)
    model = torch.nn.Linear(3, 10)

    def used(x, y, seconds):
        torch.nn.functional.cross_entropy(model(x.float().mean((1, 2))), y)
        time.sleep(seconds)
        return job.took(len(y))

    for epoch in job.epochs():
        if not any(used(x, y, 0.09) for x, y in train):
            any(used(x, y, 0.05) for x, y in val)
