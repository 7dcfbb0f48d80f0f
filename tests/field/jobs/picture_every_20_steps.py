"""Control: batches are ready; every 20 steps a grid of pictures is enlarged and saved as PNG. Fix: every 400 steps."""
import os
import time

import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset

from job import Job


class Faces(Dataset):
    def __len__(self):
        return 6000

    def __getitem__(self, i):
        return torch.randn(3, 32, 32)


def save_grid(pictures, path):
    rows = [torch.cat(list(pictures[r:r + 8]), 2) for r in range(0, 64, 8)]
    page = torch.cat(rows, 1).permute(1, 2, 0).mul(60).add(128).clamp(0, 255).byte().numpy()
    Image.fromarray(page).resize((1536, 1536), Image.BICUBIC).save(path, compress_level=9)


if __name__ == "__main__":
    job = Job()
    os.makedirs(job.dir, exist_ok=True)
    loader = DataLoader(Faces(), batch_size=64, shuffle=True, num_workers=2 if job.knob == "workers" else 1)
    model = torch.nn.Conv2d(3, 3, 3, padding=1)
    step = 0
    for epoch in job.epochs():
        for x in loader:
            out = model(x)
            out.mean().backward()
            time.sleep(0.020)
            if step % (400 if job.fix else 20) == 0:
                save_grid(out.detach(), os.path.join(job.dir, f"{step:06d}.png"))
            step += 1
            if job.took(len(x)):
                break
